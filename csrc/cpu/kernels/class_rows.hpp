#pragma once

#include "cpu/kernels/softmax.hpp"
#include "cpu/kernels/wide_math.hpp"

// Rows of scores of classes, for their losses.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Four rows of so many vectors at a time, which stay in registers.
template <std::size_t vectors, class T>
static void sums_of_vectors(const T* x, std::size_t rows, std::size_t n, float* largest,
                            float* sums) {
  constexpr std::size_t whole = (vectors - 1) * lanes;
  const std::size_t rest = n - whole;
  for (std::size_t i = 0; i < rows; i += 4) {
    Floats all[4][vectors], of_row[4];
    float most[4], added[4];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      // The last row again where there are none.
      const T* const row = x + (i + r < rows ? i + r : rows - 1) * n;
#pragma GCC unroll 4
      for (std::size_t v = 0; v + 1 < vectors; ++v) all[r][v] = load(row + v * lanes);
      const T* const last = row + whole;
      all[r][vectors - 1] = rest == lanes ? load(last) : load(last, rest, -infinity);
      of_row[r] = all[r][0];
#pragma GCC unroll 4
      for (std::size_t v = 1; v < vectors; ++v) of_row[r] = JoinLargest::of(of_row[r], all[r][v]);
    }
    join_four<JoinLargest>(of_row, most);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      of_row[r] = Floats{};
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) of_row[r] += exp(all[r][v] - most[r]);
    }
    join_four<JoinSum>(of_row, added);
    for (std::size_t r = 0; r < 4 && i + r < rows; ++r) {
      largest[i + r] = most[r];
      sums[i + r] = added[r];
    }
  }
}

template <class T>
static void short_row_sums(const T* x, std::size_t rows, std::size_t n, float* largest,
                           float* sums) {
  if (n <= lanes) return sums_of_vectors<1>(x, rows, n, largest, sums);
  if (n <= 2 * lanes) return sums_of_vectors<2>(x, rows, n, largest, sums);
  if (n <= 3 * lanes) return sums_of_vectors<3>(x, rows, n, largest, sums);
  sums_of_vectors<4>(x, rows, n, largest, sums);
}

template <class T>
static void scaled_exp_less(const T* x, std::size_t n, float shift, float factor, float less,
                            const float* weights, T* output, Store how) {
  if (weights == nullptr) {
    generate(output, n, how, [=](auto read) { return exp(read(x) - shift) * factor - less; });
    return;
  }
  generate(output, n, how,
           [=](auto read) { return exp(read(x) - shift) * factor - read(weights) * less; });
}

template <class T>
static void scaled_exp_less_rows(const T* x, std::size_t rows, std::size_t stride,
                                 std::size_t width, const float* shift, const float* factor,
                                 const float* less, const float* weights, T* output) {
  for (std::size_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
    const float weight = weights == nullptr ? 1 : weights[i];
    generate(output + i * stride, width, Store::cached, [=](auto read) {
      return exp(read(row) - read(shift)) * read(factor) - read(less) * weight;
    });
  }
}

// float64 ----------------------------------------------------------------------------------------

static inline Doubles load_wide(const double* from) { return load_bits<Doubles>(from); }
static inline Doubles load_wide(const double* from, std::size_t count, double fill) {
  Doubles x = wide(fill);
  for (std::size_t i = 0; i < count; ++i) x[i] = from[i];
  return x;
}

static double max_of_wide(const double* x, std::size_t n) {
  double most = x[0];
  for (std::size_t i = 1; i < n; ++i) most = (x[i] > most) | (x[i] != x[i]) ? x[i] : most;
  return most;
}

static double sum_of_wide_exp(const double* x, std::size_t n, double shift) {
  Doubles sum{};
  std::size_t i = 0;
  for (; i + wide_lanes <= n; i += wide_lanes) sum += exp(load_wide(x + i) - shift);
  if (i < n) sum += exp(load_wide(x + i, n - i, -infinite) - shift);
  return sum_of(sum);
}

static void scaled_wide_exp_less(const double* x, std::size_t n, double shift, double factor,
                                 double less, const double* weights, double* output) {
  std::size_t i = 0;
  for (; i < n; i += wide_lanes) {
    const std::size_t count = n - i < wide_lanes ? n - i : wide_lanes;
    const bool is_whole = count == wide_lanes;
    Doubles result =
        exp((is_whole ? load_wide(x + i) : load_wide(x + i, count, 0)) - shift) * factor;
    const Doubles weight = weights == nullptr ? wide(1)
                           : is_whole         ? load_wide(weights + i)
                                              : load_wide(weights + i, count, 0);
    result -= weight * less;
    __builtin_memcpy(output + i, &result, count * sizeof(double));
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
