#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Windows along a row: output i has the elements i * stride + k * dilation for k < window.
struct RowWindows {
  std::size_t window, stride, dilation;
};

/// Of an element that is in no window's plane: more than any place.
inline constexpr std::int32_t no_place = INT32_MAX;

/// The loops of poolings and resamplings, in F, float32 or float64. NaN is the largest.
template <class F>
struct WindowKernels {
  /// to[i] = the larger of a[i] and b[i], or their sum; `to` may be a or b.
  void (*larger_of_rows)(const F* a, const F* b, F* to, std::size_t n);
  void (*sum_of_rows)(const F* a, const F* b, F* to, std::size_t n);
  /// x[i], at place first + i, in place of largest[i] where it is larger.
  void (*join_row)(const F* x, std::int32_t first, F* largest, std::int32_t* places, std::size_t n);

  /// n windows of a row.
  void (*max_windows)(const F* x, const RowWindows& windows, F* to, std::size_t n);
  /// Of equal elements that with the least place.
  void (*max_places)(const F* x, const std::int32_t* places, const RowWindows& windows, F* to,
                     std::int32_t* to_places, std::size_t n);
  void (*sum_windows)(const F* x, const RowWindows& windows, F* to, std::size_t n);
  /// x[i] /= by, or x[i] /= each[i] * by where `each` is not null.
  void (*divide)(F* x, const F* each, F by, std::size_t n);
  /// to[i * stride + k * dilation] += x[i] for k < window, of n x.
  void (*spread_windows)(const F* x, const RowWindows& windows, F* to, std::size_t n);

  /// to[i] = by * x[i], or to[i] += by * x[i].
  void (*weigh_row)(const F* x, F by, F* to, std::size_t n, bool add);
  /// to[i] = the sum over t < taps of weights[t * n + i] * x[places[t * n + i]].
  void (*weigh_places)(const F* x, const std::int32_t* places, const F* weights, std::size_t taps,
                       F* to, std::size_t n);
};

struct WindowTable {
  WindowKernels<float> float32;
  WindowKernels<double> float64;
  /// Between bfloat16 and float32, to nearest even.
  void (*widen_bfloats)(const std::uint16_t* from, float* to, std::size_t n);
  void (*narrow_bfloats)(const float* from, std::uint16_t* to, std::size_t n);
};

/// The table for usable_isa().
const WindowTable& window_table();

}  // namespace tilewright::cpu
