#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/convert.hpp"
#include "cpu/kernels/windows_table.hpp"

// Rows of any floats, and what they are computed in: 16 bits in float32.
namespace tilewright::cpu {

struct Bfloat {
  std::uint16_t bits;
};

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
/// Whether a row is computed with where it lies.
template <class T>
inline constexpr bool is_computed = std::is_same_v<T, Computed<T>>;

inline void read_row(const float* from, float* to, std::size_t n) { std::copy_n(from, n, to); }
inline void read_row(const double* from, double* to, std::size_t n) { std::copy_n(from, n, to); }
inline void read_row(const Half* from, float* to, std::size_t n) { to_float32(from, to, n); }
inline void read_row(const Bfloat* from, float* to, std::size_t n) {
  window_table().widen_bfloats(&from->bits, to, n);
}

inline void write_row(const float* from, float* to, std::size_t n) { std::copy_n(from, n, to); }
inline void write_row(const double* from, double* to, std::size_t n) { std::copy_n(from, n, to); }
inline void write_row(const float* from, Half* to, std::size_t n) { from_float32(from, to, n); }
inline void write_row(const float* from, Bfloat* to, std::size_t n) {
  window_table().narrow_bfloats(from, &to->bits, n);
}

template <class F>
const WindowKernels<F>& window_kernels() {
  if constexpr (std::is_same_v<F, double>) {
    return window_table().float64;
  } else {
    return window_table().float32;
  }
}

/// Calls body(T{}) with the type that stores a dtype of floats.
template <class Body>
void with_any_float(DType dtype, Body&& body) {
  if (dtype == DType::float16) return body(Half{});
  if (dtype == DType::bfloat16) return body(Bfloat{});
  if (dtype == DType::float64) return body(double{});
  body(float{});
}

}  // namespace tilewright::cpu
