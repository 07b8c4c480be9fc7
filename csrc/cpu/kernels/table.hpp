#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.hpp"
#include "cpu/kernels/fft_table.hpp"
#include "cpu/kernels/linear_table.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// The bits of a float16.
using Half = std::uint16_t;

/// Streaming stores go past the caches: for outputs that would not fit them and are not inputs.
/// `streaming_part`: whoever writes the rest fences at its end.
enum class Store : std::uint8_t { cached, streaming, streaming_part };

/// An operand of a binary kernel: n elements, or one for all.
template <class T>
struct Operand {
  const T* data;
  bool scalar;
};

/// The sums of x - centre and of its square.
struct Deviations {
  double sum, squares;
};

/// The loops over elements stored as T; all arithmetic is in float32. Outputs may be inputs.
/// Rows follow each other after `stride` elements. Accumulators of `width` elements have room for
/// padded_width(width), and what is past `width` means nothing.
template <class T>
struct ElementKernels {
  void (*unary)(UnaryOp op, const T* input, T* output, std::size_t n, Store how);
  void (*binary)(BinaryOp op, Operand<T> a, Operand<T> b, T* output, std::size_t n, Store how);
  void (*to_float32)(const T* input, float* output, std::size_t n, Store how);
  void (*to_float16)(const T* input, Half* output, std::size_t n, Store how);

  // One row to one number. NaN spreads through max and min, which need n > 0.
  double (*sum)(const T* x, std::size_t n);
  float (*max)(const T* x, std::size_t n);
  float (*min)(const T* x, std::size_t n);
  double (*sum_of_squares)(const T* x, std::size_t n);
  Deviations (*deviations)(const T* x, std::size_t n, float centre);
  double (*sum_of_exp)(const T* x, std::size_t n, float shift);  ///< of exp(x - shift)

  // Rows into one row: acc[j] += or = max of x[i * stride + j].
  void (*add_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                   double* acc);
  void (*max_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width, float* acc);
  void (*min_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width, float* acc);
  void (*add_exp_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                       const float* shift, double* acc);

  // Softmax: exp(x - shift) in float32 with its sum, and the two ways to end.
  double (*exp_and_sum)(const T* x, std::size_t n, float shift, float* output);
  void (*scale_from)(const float* x, std::size_t n, float factor, T* output, Store how);
  void (*scaled_exp)(const T* x, std::size_t n, float shift, float factor, T* output, Store how);
  void (*scaled_exp_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                          const float* shift, const float* factor, T* output);
  /// Rows one behind the other of n > 0 elements, four vectors at most, or their logarithms.
  void (*softmax_short_rows)(const T* x, std::size_t rows, std::size_t n, bool is_log, T* output);
  /// Columns of 1 to 8 elements, `stride` apart.
  void (*softmax_short_columns)(const T* x, std::size_t length, std::size_t stride,
                                std::size_t width, bool is_log, T* output);
  // The same of its logarithm: x - first - second.
  void (*less_both)(const T* x, std::size_t n, float first, float second, T* output, Store how);
  void (*less_both_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                         const float* first, const float* second, T* output);

  // Of losses by classes. The largest, and the sum of exp(x - largest), of rows of n > 0 elements,
  // four vectors at most; and exp(x - shift) * factor - less * weights, which are 1 where null. Of
  // rows, weights has one for each row.
  void (*short_row_sums)(const T* x, std::size_t rows, std::size_t n, float* largest, float* sums);
  void (*scaled_exp_less)(const T* x, std::size_t n, float shift, float factor, float less,
                          const float* weights, T* output, Store how);
  void (*scaled_exp_less_rows)(const T* x, std::size_t rows, std::size_t stride, std::size_t width,
                               const float* shift, const float* factor, const float* less,
                               const float* weights, T* output);

  /// (x - centre - offset) * factor * weight + bias; both may be null.
  void (*normalize)(const T* x, std::size_t n, float centre, float offset, float factor,
                    const T* weight, const T* bias, T* output, Store how);
  /// Rows of n > 0 elements, some hundreds at most, one behind the other: each off its mean where
  /// they are `centred`, over its deviation, times weight and plus bias, which may be null.
  void (*normalize_rows)(const T* x, std::size_t rows, std::size_t n, float eps, bool centred,
                         const T* weight, const T* bias, T* output);
  /// Of such rows the mean, in two parts, and 1 over the deviation.
  void (*row_scales)(const T* x, std::size_t rows, std::size_t n, float eps, float* centres,
                     float* offsets, float* factors);
  /// Rotates the pairs (i, i + half), or (2i, 2i + 1), by the angles of cos and sin, or with a
  /// direction of -1 by their negatives.
  void (*rotate)(const T* x, const T* cos, const T* sin, std::size_t half, float direction,
                 T* output);
  void (*rotate_neighbours)(const T* x, const T* cos, const T* sin, std::size_t half,
                            float direction, T* output);
};

/// The same of rows of float64, of n > 0 elements.
struct WideRowKernels {
  double (*max)(const double* x, std::size_t n);
  double (*sum_of_exp)(const double* x, std::size_t n, double shift);
  void (*scaled_exp_less)(const double* x, std::size_t n, double shift, double factor, double less,
                          const double* weights, double* output);
};

/// The inner loops that are compiled once for each instruction set. All work on one thread; sizes
/// in elements; pointers need no alignment beyond that of their type.
struct KernelTable {
  Isa isa;
  std::size_t simd_width;  ///< float32 lanes

  ElementKernels<float> float32;
  ElementKernels<Half> float16;
  WideRowKernels float64_rows;
  LinearKernels linear;
  /// to[i] = from[i] * scale.
  void (*widen_bytes)(const std::int8_t* from, std::size_t n, float scale, float* to);
  /// from[i] * factor, which is within 127, rounded half to even.
  void (*narrow_to_bytes)(const float* from, std::size_t n, float factor, std::int8_t* to);
  /// Of n numbers; NaN where there is one.
  float (*largest_size)(const float* x, std::size_t n);
  /// In place; leaky_relu multiplies by slope.
  void (*activate)(Activation activation, float slope, float* x, std::size_t n);
  FftKernels<float> fft32;
  FftKernels<double> fft64;
};

constexpr std::size_t padded_width(std::size_t width) { return (width + 15) / 16 * 16; }

/// The table for usable_isa().
const KernelTable& kernels();

}  // namespace tilewright::cpu
