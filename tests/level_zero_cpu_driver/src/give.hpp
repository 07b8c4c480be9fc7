// The count-then-fill form of Level Zero's queries.
#pragma once

#include <algorithm>
#include <cstdint>

#include "failure.hpp"

namespace ze_cpu {

/// Sets *count to how many there are, or fills at most *count values by fill(value, index).
template <typename T, typename Fill>
void give(uint32_t* count, T* values, size_t total, const Fill& fill) {
  require_pointer(count, "pCount");
  if (*count == 0 || *count > total) *count = uint32_t(total);
  if (values == nullptr) return;
  for (uint32_t i = 0; i < *count; ++i) fill(values[i], i);
}

}  // namespace ze_cpu
