#pragma once

#include <type_traits>

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline float sum_of_lanes(Floats x) {
  float parts[lanes];
  store(parts, x);
  for (std::size_t width = lanes / 2; width != 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) parts[i] += parts[i + width];
  }
  return parts[0];
}

/// The sums of four vectors' elements: their halves are added until four are left of each, and
/// those of all four side by side.
static inline void sums_of_four(const Floats (&x)[4], float scale, float* to) {
  typedef float Four __attribute__((vector_size(16)));
  Four of[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    typedef float Eight __attribute__((vector_size(32)));
    const Eight half = __builtin_shufflevector(x[i], x[i], 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(x[i], x[i], 8, 9, 10, 11, 12, 13, 14, 15);
    of[i] = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
            __builtin_shufflevector(half, half, 4, 5, 6, 7);
#elif defined(__AVX2__)
    of[i] = __builtin_shufflevector(x[i], x[i], 0, 1, 2, 3) +
            __builtin_shufflevector(x[i], x[i], 4, 5, 6, 7);
#else
    of[i] = x[i];
#endif
  }
  const Four a = __builtin_shufflevector(of[0], of[1], 0, 4, 1, 5) +
                 __builtin_shufflevector(of[0], of[1], 2, 6, 3, 7);
  const Four b = __builtin_shufflevector(of[2], of[3], 0, 4, 1, 5) +
                 __builtin_shufflevector(of[2], of[3], 2, 6, 3, 7);
  const Four all = scale * (__builtin_shufflevector(a, b, 0, 1, 4, 5) +
                            __builtin_shufflevector(a, b, 2, 3, 6, 7));
  __builtin_memcpy(to, &all, sizeof all);
}

/// The dot products of `count` rows with x, side by side so that x is loaded once.
template <std::size_t count, class T>
static inline void dot_group(const T* rows, std::size_t stride, const float* x, std::size_t n,
                             float scale, float* output) {
  Floats even[count], odd[count];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < count; ++i) even[i] = odd[i] = Floats{};
  std::size_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    const Floats x_even = load(x + j), x_odd = load(x + j + lanes);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      even[i] += load(rows + i * stride + j) * x_even;
      odd[i] += load(rows + i * stride + j + lanes) * x_odd;
    }
  }
  if (j + lanes <= n) {
    const Floats x_even = load(x + j);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) even[i] += load(rows + i * stride + j) * x_even;
    j += lanes;
  }
  if (j < n) {
    const Floats x_odd = load(x + j, n - j);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) odd[i] += load(rows + i * stride + j, n - j) * x_odd;
  }
  if constexpr (count == 4) {
    Floats both[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) both[i] = even[i] + odd[i];
    sums_of_four(both, scale, output);
  } else {
    for (std::size_t i = 0; i < count; ++i) output[i] = scale * sum_of_lanes(even[i] + odd[i]);
  }
}

template <class T>
static void dot_rows(const T* rows, std::size_t count, std::size_t stride, const float* x,
                     std::size_t n, float scale, float* output) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    dot_group<4>(rows + i * stride, stride, x, n, scale, output + i);
  }
  const T* const left = rows + i * stride;
  if (count - i == 1) dot_group<1>(left, stride, x, n, scale, output + i);
  if (count - i == 2) dot_group<2>(left, stride, x, n, scale, output + i);
  if (count - i == 3) dot_group<3>(left, stride, x, n, scale, output + i);
}

/// The dot products of `count` rows, at most four, with `several` of x, each element loaded once
/// for all of them.
template <std::size_t count, std::size_t several, class T>
static inline void dot_tile(const T* rows, std::size_t stride, const float* x, std::size_t x_stride,
                            std::size_t n, float scale, float* output, std::size_t output_stride) {
  Floats sums[several][4];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < several; ++v) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) sums[v][i] = Floats{};
  }
  const auto add = [&](std::size_t j, auto read) {
    Floats row[count];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) row[i] = read(rows + i * stride + j);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < several; ++v) {
      const Floats own = read(x + v * x_stride + j);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < count; ++i) sums[v][i] += row[i] * own;
    }
  };
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) add(j, [](const auto* from) { return load(from); });
  if (j < n) add(j, [=](const auto* from) { return load(from, n - j); });
#pragma GCC unroll 4
  for (std::size_t v = 0; v < several; ++v) {
    float four[4];
    sums_of_four(sums[v], scale, four);
    __builtin_memcpy(output + v * output_stride, four, count * sizeof(float));
  }
}

template <std::size_t count, class T>
static void dot_some_of_several(const T* rows, std::size_t stride, const float* x,
                                std::size_t x_count, std::size_t x_stride, std::size_t n,
                                float scale, float* output, std::size_t output_stride) {
#if defined(__AVX512F__)
  constexpr std::size_t several = 4;
#else
  constexpr std::size_t several = 2;
#endif
  std::size_t v = 0;
  const auto take = [&]<std::size_t taken>() {
    for (; v + taken <= x_count; v += taken) {
      dot_tile<count, taken>(rows, stride, x + v * x_stride, x_stride, n, scale,
                             output + v * output_stride, output_stride);
    }
  };
  take.template operator()<several>();
  if constexpr (several > 2) {
    take.template operator()<3>();
    take.template operator()<2>();
  }
  for (; v < x_count; ++v) {
    dot_group<count>(rows, stride, x + v * x_stride, n, scale, output + v * output_stride);
  }
}

template <class T>
static void dot_rows_of_several(const T* rows, std::size_t count, std::size_t stride,
                                const float* x, std::size_t x_count, std::size_t x_stride,
                                std::size_t n, float scale, float* output,
                                std::size_t output_stride) {
  const auto some = [&]<std::size_t taken>(std::size_t i) {
    dot_some_of_several<taken>(rows + i * stride, stride, x, x_count, x_stride, n, scale,
                               output + i, output_stride);
  };
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) some.template operator()<4>(i);
  if (count - i == 1) some.template operator()<1>(i);
  if (count - i == 2) some.template operator()<2>(i);
  if (count - i == 3) some.template operator()<3>(i);
}

/// Adds the rows into `vectors` vectors of the output.
template <std::size_t vectors, class T>
static inline void add_weighted_columns(const T* rows, std::size_t count, std::size_t stride,
                                        const float* weights, float* output) {
  Floats sums[vectors];
  for (std::size_t v = 0; v < vectors; ++v) sums[v] = load(output + v * lanes);
  for (std::size_t i = 0; i < count; ++i) {
    const Floats w = splat(weights[i]);
    for (std::size_t v = 0; v < vectors; ++v) sums[v] += w * load(rows + i * stride + v * lanes);
  }
  for (std::size_t v = 0; v < vectors; ++v) store(output + v * lanes, sums[v]);
}

template <class T>
static void add_weighted_rows(const T* rows, std::size_t count, std::size_t stride,
                              const float* weights, std::size_t n, float* output) {
  std::size_t j = 0;
  for (; j + 8 * lanes <= n; j += 8 * lanes) {
    add_weighted_columns<8>(rows + j, count, stride, weights, output + j);
  }
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    add_weighted_columns<4>(rows + j, count, stride, weights, output + j);
  }
  for (; j + lanes <= n; j += lanes) {
    add_weighted_columns<1>(rows + j, count, stride, weights, output + j);
  }
  if (j < n) {
    Floats sum = load(output + j, n - j);
    for (std::size_t i = 0; i < count; ++i) {
      sum += splat(weights[i]) * load(rows + i * stride + j, n - j);
    }
    store(output + j, sum, n - j);
  }
}

/// Adds such rows into `vectors` vectors of the output. The next row but a few is on its way before
/// it is asked for: what places say is no pattern that the processor sees.
template <std::size_t vectors, class T>
static inline void add_placed_columns(const T* rows, const std::uint32_t* places, std::size_t count,
                                      std::size_t stride, const float* weights, float* output) {
  constexpr std::size_t ahead = 4, line = 64 / sizeof(T);
  Floats sums[vectors];
  for (std::size_t v = 0; v < vectors; ++v) sums[v] = load(output + v * lanes);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) {
      const T* const next = rows + places[i + ahead] * stride;
      for (std::size_t j = 0; j < vectors * lanes; j += line) __builtin_prefetch(next + j);
    }
    const T* const row = rows + places[i] * stride;
    const Floats w = splat(weights[i]);
    for (std::size_t v = 0; v < vectors; ++v) sums[v] += w * load(row + v * lanes);
  }
  for (std::size_t v = 0; v < vectors; ++v) store(output + v * lanes, sums[v]);
}

template <class T>
static void add_placed_rows(const T* rows, const std::uint32_t* places, std::size_t count,
                            std::size_t stride, const float* weights, std::size_t n,
                            float* output) {
  std::size_t j = 0;
  for (; j + 8 * lanes <= n; j += 8 * lanes) {
    add_placed_columns<8>(rows + j, places, count, stride, weights, output + j);
  }
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    add_placed_columns<4>(rows + j, places, count, stride, weights, output + j);
  }
  for (; j + lanes <= n; j += lanes) {
    add_placed_columns<1>(rows + j, places, count, stride, weights, output + j);
  }
  if (j < n) {
    Floats sum = load(output + j, n - j);
    for (std::size_t i = 0; i < count; ++i) {
      sum += splat(weights[i]) * load(rows + places[i] * stride + j, n - j);
    }
    store(output + j, sum, n - j);
  }
}

#if defined(__AVX2__)
/// In each four elements the first halves of both, one by one in turn or two by two; and the second
/// halves.
#if defined(__AVX512F__)
#define TILEWRIGHT_IN_FOURS(a, b, i, j, k, l)                                                \
  __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4, i + 8, j + 8, k + 8, \
                          l + 8, i + 12, j + 12, k + 12, l + 12)
#else
#define TILEWRIGHT_IN_FOURS(a, b, i, j, k, l) \
  __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)
#endif

/// Rows become columns. Within four elements first, since moves between these take longer.
static inline void transpose_square(Floats (&square)[lanes]) {
  constexpr int n = lanes;
  Floats pairs[lanes], fours[lanes];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < lanes; i += 2) {
    const Floats a = square[i], b = square[i + 1];
    pairs[i] = TILEWRIGHT_IN_FOURS(a, b, 0, n, 1, n + 1);
    pairs[i + 1] = TILEWRIGHT_IN_FOURS(a, b, 2, n + 2, 3, n + 3);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lanes; i += 4) {
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
      const Floats a = pairs[i + half], b = pairs[i + half + 2];
      fours[i + 2 * half] = TILEWRIGHT_IN_FOURS(a, b, 0, 1, n, n + 1);
      fours[i + 2 * half + 1] = TILEWRIGHT_IN_FOURS(a, b, 2, 3, n + 2, n + 3);
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    const Floats a = fours[i], b = fours[i + 4], c = fours[i + 8], d = fours[i + 12];
    const auto halves = [](Floats x, Floats y, auto second) {
      constexpr int o = second.value ? 8 : 0;
      return __builtin_shufflevector(x, y, o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7,
                                     o + 16, o + 17, o + 18, o + 19, o + 20, o + 21, o + 22,
                                     o + 23);
    };
    const auto quarters = [](Floats x, Floats y, auto second) {
      constexpr int o = second.value ? 4 : 0;
      return __builtin_shufflevector(x, y, o, o + 1, o + 2, o + 3, o + 8, o + 9, o + 10, o + 11,
                                     o + 16, o + 17, o + 18, o + 19, o + 24, o + 25, o + 26,
                                     o + 27);
    };
    const std::false_type first{};
    const std::true_type second{};
    const Floats ab = halves(a, b, first), cd = halves(c, d, first);
    const Floats ab_behind = halves(a, b, second), cd_behind = halves(c, d, second);
    square[i] = quarters(ab, cd, first);
    square[i + 4] = quarters(ab, cd, second);
    square[i + 8] = quarters(ab_behind, cd_behind, first);
    square[i + 12] = quarters(ab_behind, cd_behind, second);
#else
    const Floats a = fours[i], b = fours[i + 4];
    square[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    square[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
#endif
  }
}
#undef TILEWRIGHT_IN_FOURS
#else
/// Rows become columns.
static inline void transpose_square(Floats (&square)[lanes]) {
  // Each round halves the distance, in the order of elements, between the rows of one column.
#pragma GCC unroll 4
  for (std::size_t round = 1; round < lanes; round *= 2) {
    Floats next[lanes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      next[2 * i] = interleave_low(square[i], square[i + lanes / 2]);
      next[2 * i + 1] = interleave_high(square[i], square[i + lanes / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lanes; ++i) square[i] = next[i];
  }
}
#endif

template <class T>
static void transpose(const T* rows, std::size_t count, std::size_t stride, std::size_t n,
                      float scale, float* output, std::size_t output_stride) {
  const auto turn = [&](std::size_t i, std::size_t j) {
    const std::size_t height = count - i < lanes ? count - i : lanes;
    const std::size_t width = n - j < lanes ? n - j : lanes;
    const T* const from = rows + i * stride + j;
    float* const to = output + j * output_stride + i;
    Floats square[lanes];
    if (height == lanes && width == lanes) {
#pragma GCC unroll 16
      for (std::size_t y = 0; y < lanes; ++y) {
        __builtin_prefetch(from + (y + lanes) * stride);  // short rows are many streams
        square[y] = load(from + y * stride) * scale;
      }
    } else {
#pragma GCC unroll 16
      for (std::size_t y = 0; y < lanes; ++y) {
        square[y] = y >= height ? Floats{} : load_up_to(from + y * stride, width) * scale;
      }
    }
    transpose_square(square);
    if (height == lanes && width == lanes) {
#pragma GCC unroll 16
      for (std::size_t x = 0; x < lanes; ++x) store(to + x * output_stride, square[x]);
      return;
    }
#pragma GCC unroll 16
    for (std::size_t x = 0; x < lanes; ++x) {
      if (x < width) store_up_to(to + x * output_stride, square[x], height);
    }
  };
  for (std::size_t i = 0; i < count; i += lanes) {
    for (std::size_t j = 0; j < n; j += lanes) turn(i, j);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
