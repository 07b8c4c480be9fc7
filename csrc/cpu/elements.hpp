#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/kernels/table.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

/// Elements that are worth a thread's while, for work that memory bounds.
inline constexpr std::size_t element_grain = 1 << 15;

template <class T>
const ElementKernels<T>& kernels_for();
template <>
inline const ElementKernels<float>& kernels_for<float>() {
  return kernels().float32;
}
template <>
inline const ElementKernels<Half>& kernels_for<Half>() {
  return kernels().float16;
}

/// Calls body(T{}) with the type that stores a dtype.
template <class Body>
void with_element_type(DType dtype, Body&& body) {
  if (dtype == DType::float16) {
    body(Half{});
  } else {
    body(float{});
  }
}

/// Calls body(i) for i in [0, units), each about `elements` of work, on as many threads as that is
/// worth; neighbours mostly on the same one.
template <class Body>
void parallel_units(std::size_t units, std::size_t elements, Body&& body) {
  const std::size_t pieces = std::min(units, piece_count(units * elements, element_grain));
  if (pieces <= 1) {
    for (std::size_t i = 0; i < units; ++i) body(i);
    return;
  }
  parallel_tasks(pieces, [&](std::size_t piece) {
    const std::size_t end = units * (piece + 1) / pieces;
    for (std::size_t i = units * piece / pieces; i < end; ++i) body(i);
  });
}

/// Streaming for an output of this size that is no input.
Store store_for(std::size_t output_bytes, bool in_place);

}  // namespace tilewright::cpu
