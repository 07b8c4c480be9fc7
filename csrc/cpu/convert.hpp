#pragma once

#include <algorithm>

#include "cpu/kernels/table.hpp"

namespace tilewright::cpu {

// Between the storage of a request and the float32 that is computed with.

inline void to_float32(const float* from, float* to, std::size_t n) { std::copy_n(from, n, to); }
inline void to_float32(const Half* from, float* to, std::size_t n) {
  kernels().float16.to_float32(from, to, n, Store::cached);
}

inline void from_float32(const float* from, float* to, std::size_t n) { std::copy_n(from, n, to); }
inline void from_float32(const float* from, Half* to, std::size_t n) {
  kernels().float32.to_float16(from, to, n, Store::cached);
}

/// The product kernels for rows stored as T.
template <class T>
const RowKernels<T>& row_kernels() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return kernels().linear.float32;
  } else {
    return kernels().linear.float16;
  }
}

}  // namespace tilewright::cpu
