#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Where one tap of a filter finds its input, counted from the position, and its weight, counted
/// from the filter's first.
struct Tap {
  std::ptrdiff_t input, weight;
};

/// A sum of products over channels and taps at consecutive positions:
///   output[f][x] = start[f] + sum of weight[f][c][t] * input[c][t][x]
/// where input[c][t][x] is input[c * input_stride + taps[t].input + x], and weight[f][c][t] is
/// weights[f * filter_stride + c * weight_stride + taps[t].weight]. A convolution over padded rows,
/// and with one tap the product of two matrices.
///
/// Works in whole vectors: there must be at least simd_width positions, and with `kept` a multiple
/// of it. Nothing outside the positions is read or written.
struct TapProduct {
  const float* input;
  std::size_t input_stride;
  std::size_t channels;
  const Tap* taps;
  std::size_t tap_count;
  const float* weights;
  std::size_t filter_stride, weight_stride;
  const float* start;  ///< null for zeros
  float* output;
  std::size_t output_stride;
  std::size_t filters, positions;
  const float* kept;    ///< null, or what of each filter's output so far stays: output[f] * kept[f]
  const float* addend;  ///< null, or what is added to the sums: it lies as the output does
  bool is_clamped;      ///< to [low, high], before it is stored
  float low, high;
};

/// The loops of products; rows are stored as T.
template <class T>
struct RowKernels {
  /// output[i] = scale * (row i . x), rows of n elements, `stride` apart.
  void (*dot_rows)(const T* rows, std::size_t count, std::size_t stride, const float* x,
                   std::size_t n, float scale, float* output);
  /// The same with several of x, `x_stride` apart, whose results lie `output_stride` apart.
  void (*dot_rows_of_several)(const T* rows, std::size_t count, std::size_t stride, const float* x,
                              std::size_t x_count, std::size_t x_stride, std::size_t n, float scale,
                              float* output, std::size_t output_stride);
  /// output[j] += sum of weights[i] * row i [j], rows of n elements, `stride` apart.
  void (*add_weighted_rows)(const T* rows, std::size_t count, std::size_t stride,
                            const float* weights, std::size_t n, float* output);
  /// The same of rows in any order: row i is places[i] strides into `rows`.
  void (*add_placed_rows)(const T* rows, const std::uint32_t* places, std::size_t count,
                          std::size_t stride, const float* weights, std::size_t n, float* output);
  /// output[j * output_stride + i] = scale * row i [j].
  void (*transpose)(const T* rows, std::size_t count, std::size_t stride, std::size_t n,
                    float scale, float* output, std::size_t output_stride);
};

/// Columns that go together where each has a softmax of its own.
constexpr std::size_t most_panel_columns = 48;

struct LinearKernels {
  RowKernels<float> float32;
  RowKernels<std::uint16_t> float16;

  void (*tap_product)(const TapProduct& product);

  /// One step of a softmax that sees its row in parts, with powers of two: scores become
  /// 2^(factor * (score - maximum)), with the running maximum counting them; returns their sum. A
  /// NaN or +infinity among the scores makes the sum NaN, as it makes the softmax of the whole row.
  float (*softmax_step)(float* scores, std::size_t n, float factor, float& maximum);

  /// The same for scores in columns, one softmax each, already to base 2: `columns`, a multiple of
  /// simd_width, of `count` scores `stride` apart. Their sums scale down with each new maximum, by
  /// the factors given back, before they grow. All weights are 2^-16 of what they would be.
  void (*softmax_columns)(float* scores, std::size_t count, std::size_t stride, std::size_t columns,
                          float* maxima, float* sums, float* factors);

  /// Scores, as a product with one tap, and what they weigh in one go: for columns whose maxima are
  /// known and that grow little beyond. Where the new weights of a column come to more than 1, or
  /// to NaN, nothing is added to the sums and the output means nothing: returns false.
  bool (*weigh_columns)(const TapProduct& scoring, const float* maxima, float* sums);

  /// Each element rounded to what float16 or bfloat16 can hold, to nearest even.
  void (*round_to_float16)(const float* input, float* output, std::size_t n);
  void (*round_to_bfloat16)(const float* input, float* output, std::size_t n);
};

}  // namespace tilewright::cpu
