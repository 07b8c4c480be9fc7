#pragma once

#include <cstdint>

#include "core/requests.hpp"
#include "core/sort_keys.hpp"
#include "cpu/kernels/sort_table.hpp"

namespace tilewright::cpu {

template <class E, class S>
SortOrder<S> order_of(const SortRequest& r) {
  const SortKeys keys = sort_keys(r.dtype, r.descending);
  const E sign = static_cast<E>(keys.sign), flip = static_cast<E>(keys.flip);
  constexpr E top = static_cast<E>(std::uint64_t{1} << (8 * sizeof(E) - 1));
  if (keys.is_float()) return {flip, sign, static_cast<S>(keys.infinity)};
  return {static_cast<E>(flip ^ (keys.sign == 0 ? top : 0)), 0, 0};
}

}  // namespace tilewright::cpu
