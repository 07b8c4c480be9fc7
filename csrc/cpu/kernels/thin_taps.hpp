#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/kernels/conv_table.hpp"
#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

#if defined(__AVX512F__)
/// Half a vector, of which twice as many are multiplied at a time: for rows that fill no more.
using Narrow = Streamed<float>::Vector;
#else
using Narrow = Floats;
#endif
template <class Vector>
constexpr std::size_t lanes_of = sizeof(Vector) / sizeof(float);

template <class Vector>
static inline void store_first(float* to, Vector x, std::size_t count) {
  if constexpr (sizeof(Vector) == sizeof(Floats)) {
    store(to, x, count);
  } else {
#if defined(__AVX512F__)
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>((1u << count) - 1), (__m256)x);
#endif
  }
}

/// Else each is read again by every product that takes it, across lines.
template <class Vector>
__attribute__((always_inline)) static inline Vector read_once(const float* from) {
  Vector x = load_as<Vector>(from);
#if defined(__x86_64__)
  asm("" : "+v"(x));
#endif
  return x;
}

/// Adds to a tile of sums what they see through `taps` rows of the filter: each vector that is read
/// serves all rows of the tile that see it.
template <std::size_t taps, class Vector, std::size_t sets, std::size_t rows, std::size_t vectors>
__attribute__((always_inline)) static inline void add_thin_taps(
    const ThinTaps& t, const float* input, const float* weights,
    Vector (&all)[sets][rows][vectors]) {
  constexpr std::size_t lanes = lanes_of<Vector>;
  const auto add = [&](std::size_t k, Vector(&sums)[rows][vectors]) __attribute__((always_inline)) {
    const float* const from = input + t.columns[k];
    Vector w[taps];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < taps; ++j) w[j] = weights[j] - Vector{};
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows + taps - 1; ++i) {
      Vector seen[vectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) {
        seen[v] = read_once<Vector>(from + static_cast<std::ptrdiff_t>(i) * t.width + v * lanes);
      }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < rows; ++r) {
        if (i < r || i - r >= taps) continue;
#pragma GCC unroll 2
        for (std::size_t v = 0; v < vectors; ++v) sums[r][v] += w[i - r] * seen[v];
      }
    }
    weights += taps;
  };
  std::size_t k = 0;
  for (; sets == 2 && k + 2 <= t.column_count; k += 2) {
    add(k, all[0]);
    add(k + 1, all[sets - 1]);
  }
  for (; k < t.column_count; ++k) add(k, all[0]);
}

template <class Vector, std::size_t rows, std::size_t vectors>
__attribute__((noinline)) static void thin_tile(const ThinProduct& p, std::size_t row,
                                                std::size_t column) {
  constexpr std::size_t lanes = lanes_of<Vector>;
  const ThinTaps& t = *p.taps;
  // Few sums would wait for each other: every other column has its own.
  constexpr std::size_t sets = rows * vectors <= 4 ? 2 : 1;
  Vector all[sets][rows][vectors] = {};
  auto& sums = all[0];
  float* const output = p.output + row * p.output_stride + column;
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] =
          p.adds ? load_as<Vector>(output + r * p.output_stride + v * lanes) : p.start - Vector{};
    }
  }
  const float* const input = p.input + static_cast<std::ptrdiff_t>(row) * t.width + column;
  const float* weights = p.weights;
  for (std::size_t g = 0; g < t.row_count; ++g) {
    const float* const from = input + t.rows[g].from;
    switch (t.rows[g].count) {
      case 1:
        add_thin_taps<1>(t, from, weights, all);
        break;
      case 2:
        add_thin_taps<2>(t, from, weights, all);
        break;
      case 3:
        add_thin_taps<3>(t, from, weights, all);
        break;
      case 4:
        add_thin_taps<4>(t, from, weights, all);
        break;
      case 5:
        add_thin_taps<5>(t, from, weights, all);
        break;
      case 6:
        add_thin_taps<6>(t, from, weights, all);
        break;
      default:
        add_thin_taps<7>(t, from, weights, all);
        break;
    }
    weights += t.rows[g].count * t.column_count;
  }
  if constexpr (sets == 2) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) sums[r][v] += all[1][r][v];
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) {
      float* const to = output + r * p.output_stride + v * lanes;
      const std::size_t left = p.columns - column - v * lanes;
      if (p.is_whole && left < lanes) {
        store_first(to, sums[r][v], left);
      } else {
        __builtin_memcpy(to, &sums[r][v], sizeof(Vector));
      }
    }
  }
}

/// All rows of some columns. The last tile moves back to end where the rows end, but not where it
/// adds to what is there.
template <class Vector, std::size_t vectors>
static void thin_columns(const ThinProduct& p, std::size_t column) {
  constexpr std::size_t most = vectors == 1 ? 8 : 4;
  std::size_t row = 0;
  while (row < p.rows) {
    const std::size_t left = p.rows - row;
    if (left >= most) {
      thin_tile<Vector, most, vectors>(p, row, column);
      row += most;
    } else if (left >= 4) {
      thin_tile<Vector, 4, vectors>(p, row, column);
      row += 4;
    } else if (left > 1 && p.rows >= 4 && !p.adds) {
      thin_tile<Vector, 4, vectors>(p, p.rows - 4, column);
      row = p.rows;
    } else {
      thin_tile<Vector, 1, vectors>(p, row, column);
      ++row;
    }
  }
}

static void thin_product(const ThinProduct& p) {
  if (p.columns <= lanes_of<Narrow>) return thin_columns<Narrow, 1>(p, 0);
  for (std::size_t column = 0; column < p.columns;) {
    if (p.columns - column > lanes) {
      thin_columns<Floats, 2>(p, column);
      column += 2 * lanes;
    } else {
      thin_columns<Floats, 1>(p, column);
      column += lanes;
    }
  }
}

/// The products of some rows of the gradient with what `taps` rows of the filter see there.
template <std::size_t taps>
static void add_thin_dots(const ThinDots& p, const float* input, float* sums) {
  constexpr std::size_t most = 4;
  const ThinTaps& t = *p.taps;
  const Ints each = [] {
    Ints place;
    for (std::size_t i = 0; i < lanes; ++i) place[i] = static_cast<std::int32_t>(i);
    return place;
  }();
  for (std::size_t k = 0; k < t.column_count; ++k) {
    Floats all[taps] = {};
    const auto add = [&]<std::size_t rows>(std::size_t row) __attribute__((always_inline)) {
      const float* const of = p.gradient + row * p.gradient_stride;
      const float* const from = input + t.columns[k] + static_cast<std::ptrdiff_t>(row) * t.width;
      const auto step = [&](std::size_t x, auto is_whole) __attribute__((always_inline)) {
        Floats grads[rows];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < rows; ++r) grads[r] = load(of + r * p.gradient_stride + x);
        const Ints is_there = each < static_cast<std::int32_t>(p.columns - x);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows + taps - 1; ++i) {
          Floats seen = read_once<Floats>(from + static_cast<std::ptrdiff_t>(i) * t.width + x);
          // What is past a row is no part of it, and may be infinite.
          if constexpr (!is_whole.value) seen = is_there ? seen : Floats{};
#pragma GCC unroll 4
          for (std::size_t r = 0; r < rows; ++r) {
            if (i < r || i - r >= taps) continue;
            all[i - r] += grads[r] * seen;
          }
        }
      };
      std::size_t x = 0;
      for (; x + lanes <= p.columns; x += lanes) step(x, std::true_type{});
      if (x < p.columns) step(x, std::false_type{});
    };
    std::size_t row = 0;
    for (; row + most <= p.rows; row += most) add.template operator()<most>(row);
    for (; row < p.rows; ++row) add.template operator()<1>(row);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < taps; ++j) {
      float* const sum = sums + (k * taps + j) * lanes;
      store(sum, load(sum) + all[j]);
    }
  }
}

static void thin_dots(const ThinDots& p) {
  const ThinTaps& t = *p.taps;
  float* sums = p.sums;
  for (std::size_t g = 0; g < t.row_count; ++g) {
    const float* const from = p.input + t.rows[g].from;
    switch (t.rows[g].count) {
      case 1:
        add_thin_dots<1>(p, from, sums);
        break;
      case 2:
        add_thin_dots<2>(p, from, sums);
        break;
      case 3:
        add_thin_dots<3>(p, from, sums);
        break;
      case 4:
        add_thin_dots<4>(p, from, sums);
        break;
      case 5:
        add_thin_dots<5>(p, from, sums);
        break;
      case 6:
        add_thin_dots<6>(p, from, sums);
        break;
      default:
        add_thin_dots<7>(p, from, sums);
        break;
    }
    sums += t.rows[g].count * t.column_count * lanes;
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
