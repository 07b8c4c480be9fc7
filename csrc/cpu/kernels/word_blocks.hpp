#pragma once

#include "cpu/kernels/rows.hpp"

// Blocks of elements of 4 bytes, whatever they are, moved by vectors of floats that nothing is
// computed with.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Rows of n elements, `from_step` apart, to rows `to_step` apart.
static void copy_words(const void* from, std::ptrdiff_t from_step, void* to, std::ptrdiff_t to_step,
                       std::size_t rows, std::size_t n) {
  const float* x = static_cast<const float*>(from);
  float* y = static_cast<float*>(to);
  for (std::size_t row = 0; row < rows; ++row, x += from_step, y += to_step) {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) store(y + i, load(x + i));
    if (i < n) store(y + i, load(x + i, n - i), n - i);
  }
}

/// One element of each row, `step` apart, n times; rows lie side by side.
static void repeat_words(const void* from, std::ptrdiff_t step, void* to, std::size_t rows,
                         std::size_t n) {
  const float* x = static_cast<const float*>(from);
  float* y = static_cast<float*>(to);
  for (std::size_t row = 0; row < rows; ++row, x += step, y += n) {
    const Floats all = (Floats)(Words{} + load_bits<std::uint32_t>(x));
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) store(y + i, all);
    if (i < n) store(y + i, all, n - i);
  }
}

/// Each step-th element, `n` of them, side by side: of vectors that are read whole.
template <std::size_t step>
static std::size_t pick_by_vectors(const float* x, float* y, std::size_t n) {
  Ints index, part;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    index[lane] = static_cast<std::int32_t>(lane * step % lanes);
    part[lane] = static_cast<std::int32_t>(lane * step / lanes);
  }
  std::size_t i = 0;
  // What is behind the last one may be nobody's.
  for (; i + lanes < n; i += lanes) {
    Floats all = __builtin_shuffle(load(x + i * step), index);
#pragma GCC unroll 8
    for (std::size_t k = 1; k < step; ++k) {
      const Floats next = __builtin_shuffle(load(x + i * step + k * lanes), index);
      all = part == static_cast<std::int32_t>(k) ? next : all;
    }
    store(y + i, all);
  }
  return i;
}
static void pick_words(const void* from, std::ptrdiff_t step, void* to, std::size_t n) {
  const float* x = static_cast<const float*>(from);
  float* y = static_cast<float*>(to);
  std::size_t i = 0;
#if defined(__AVX2__)
  switch (step) {
    case 2:
      i = pick_by_vectors<2>(x, y, n);
      break;
    case 3:
      i = pick_by_vectors<3>(x, y, n);
      break;
    case 4:
      i = pick_by_vectors<4>(x, y, n);
      break;
    case 5:
      i = pick_by_vectors<5>(x, y, n);
      break;
    case 6:
      i = pick_by_vectors<6>(x, y, n);
      break;
    case 7:
      i = pick_by_vectors<7>(x, y, n);
      break;
    case 8:
      i = pick_by_vectors<8>(x, y, n);
      break;
    default:
      break;
  }
#endif
  for (; i < n; ++i) __builtin_memcpy(y + i, x + static_cast<std::ptrdiff_t>(i) * step, sizeof *y);
}

/// Columns whose elements lie side by side, `step` apart, to rows of n that are `to_step` apart.
/// Those that are wanted next lie `next` behind.
static void transpose_words(const void* from, std::ptrdiff_t step, std::ptrdiff_t next, void* to,
                            std::ptrdiff_t to_step, std::size_t rows, std::size_t n) {
  const float* x = static_cast<const float*>(from);
  float* y = static_cast<float*>(to);
  for (std::size_t j = 0; j < n; j += lanes) {
    const std::size_t width = n - j < lanes ? n - j : lanes;
    for (std::size_t i = 0; i < rows; i += lanes) {
      const std::size_t height = rows - i < lanes ? rows - i : lanes;
      const float* const column = x + static_cast<std::ptrdiff_t>(j) * step + i;
      float* const to_rows = y + static_cast<std::ptrdiff_t>(i) * to_step + j;
      const bool is_whole = width == lanes && height == lanes;
      Floats square[lanes];
#pragma GCC unroll 16
      for (std::size_t k = 0; k < lanes; ++k) {
        // No prefetcher sees the next block coming.
        __builtin_prefetch(column + static_cast<std::ptrdiff_t>(k) * step + next);
      }
      if (is_whole) {
#pragma GCC unroll 16
        for (std::size_t k = 0; k < lanes; ++k) {
          square[k] = load(column + static_cast<std::ptrdiff_t>(k) * step);
        }
      } else {
#pragma GCC unroll 16
        for (std::size_t k = 0; k < lanes; ++k) {
          square[k] = k >= width
                          ? Floats{}
                          : load_up_to(column + static_cast<std::ptrdiff_t>(k) * step, height);
        }
      }
      transpose_square(square);
      if (is_whole) {
#pragma GCC unroll 16
        for (std::size_t k = 0; k < lanes; ++k) {
          store(to_rows + static_cast<std::ptrdiff_t>(k) * to_step, square[k]);
        }
        continue;
      }
#pragma GCC unroll 16
      for (std::size_t k = 0; k < lanes; ++k) {
        if (k < height) {
          store_up_to(to_rows + static_cast<std::ptrdiff_t>(k) * to_step, square[k], width);
        }
      }
    }
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
