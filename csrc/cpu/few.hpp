#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tilewright::cpu {

/// Calls body(std::integral_constant<std::size_t, n>()) for n from 1 to `most`, so that so many
/// values stay in registers; whether it is one of these.
template <std::size_t most, class Body>
bool with_few(std::size_t n, Body&& body) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return ((n == i + 1 && (body(std::integral_constant<std::size_t, i + 1>()), true)) || ...);
  }(std::make_index_sequence<most>());
}

}  // namespace tilewright::cpu
