#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/program_table.hpp"
#include "cpu/program/block_walk.hpp"

// Blocks of elements from where they lie to places side by side, and back.
namespace tilewright::cpu {

/// Calls body with a word of so many bytes.
template <class Body>
void with_word(std::size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

/// Whether a block's elements are better gone through column by column: those of a column lie
/// nearer to each other in memory, or rows are too short for a loop.
inline bool by_columns(const BlockPlace& place, std::size_t rows, std::size_t cols) {
  const auto magnitude = [](Size x) { return x < 0 ? -x : x; };
  constexpr std::size_t short_row = 8;
  return rows > 1 && place.row_step != 0 &&
         (magnitude(place.row_step) < magnitude(place.col_step) ||
          (cols < short_row && cols < rows));
}

/// Whether a block's elements lie side by side in memory.
inline bool lies_densely(const BlockPlace& place, std::size_t rows, std::size_t cols) {
  return (place.col_step == 1 || cols == 1) &&
         (rows == 1 || place.row_step == static_cast<Size>(cols));
}

namespace block_moves {
/// Rows or columns that are worth vectors, and those that are worth a call of their own.
constexpr std::size_t few = 4, many = 256;
/// Elements that are worth turning squares of vectors.
constexpr std::size_t squares = 96;
}  // namespace block_moves

/// A block's elements, each row side by side and `to_step` behind the one before.
template <class T>
void gather(const T* from, const BlockPlace& place, T* to, Size to_step, std::size_t rows,
            std::size_t cols) {
  const auto at = [&](std::size_t row, std::size_t col) {
    return from + static_cast<Size>(row) * place.row_step + static_cast<Size>(col) * place.col_step;
  };
  const bool to_dense = rows == 1 || to_step == static_cast<Size>(cols);
  if (to_dense && lies_densely(place, rows, cols)) {
    std::memcpy(to, from, rows * cols * sizeof(T));
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (place.col_step == 0 && to_dense) {
      return program_kernels().repeat_words(from, place.row_step, to, rows, cols);
    }
    if (place.col_step == 1 && cols < block_moves::many) {
      return program_kernels().copy_words(from, place.row_step, to, to_step, rows, cols);
    }
  }
  if (by_columns(place, rows, cols)) {
    // No prefetcher sees the next block coming: below this one, or beside it.
    const Size next = place.is_wide ? static_cast<Size>(rows) * place.row_step
                                    : static_cast<Size>(cols) * place.col_step;
    if constexpr (sizeof(T) == 4) {
      if (place.row_step == 1 && cols == 2 && to_step == 2) {
        return program_kernels().join_32(from, at(0, 1), to, rows);
      }
      if (place.row_step == 1 && rows >= block_moves::few && rows * cols >= block_moves::squares) {
        return program_kernels().transpose_words(from, place.col_step, next, to, to_step, rows,
                                                 cols);
      }
    }
    for (std::size_t col = 0; col < cols; ++col) {
      const T* const x = at(0, col);
      T* const y = to + col;
      if (place.row_step == 1) {
        for (std::size_t row = 0; row < rows; row += 64 / sizeof(T)) {
          __builtin_prefetch(x + next + row);
        }
      }
      for (Size row = 0; row < static_cast<Size>(rows); ++row) {
        y[row * to_step] = x[row * place.row_step];
      }
    }
    return;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const x = at(row, 0);
    T* const y = to + static_cast<Size>(row) * to_step;
    if (place.col_step == 1) {
      std::memcpy(y, x, cols * sizeof(T));
    } else if (place.col_step == 0) {
      std::fill_n(y, cols, *x);
    } else if (sizeof(T) == 4 && place.col_step > 0) {
      program_kernels().pick_words(x, place.col_step, y, cols);
    } else if (place.col_step == 2) {
      // The parts of complex numbers; a step that compilers know makes vectors.
      for (std::size_t col = 0; col < cols; ++col) y[col] = x[2 * col];
    } else {
      for (std::size_t col = 0; col < cols; ++col)
        y[col] = x[static_cast<Size>(col) * place.col_step];
    }
  }
}

/// The same, rows side by side as well.
template <class T>
void gather(const T* from, const BlockPlace& place, T* to, std::size_t rows, std::size_t cols) {
  gather(from, place, to, static_cast<Size>(cols), rows, cols);
}

/// The other way round.
template <class T>
void scatter(const T* from, T* to, const BlockPlace& place, std::size_t rows, std::size_t cols) {
  const auto at = [&](std::size_t row, std::size_t col) {
    return to + static_cast<Size>(row) * place.row_step + static_cast<Size>(col) * place.col_step;
  };
  if (lies_densely(place, rows, cols)) {
    std::memcpy(to, from, rows * cols * sizeof(T));
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (place.col_step == 1 && cols < block_moves::many) {
      return program_kernels().copy_words(from, static_cast<Size>(cols), to, place.row_step, rows,
                                          cols);
    }
  }
  if (by_columns(place, rows, cols)) {
    for (std::size_t col = 0; col < cols; ++col) {
      T* const y = at(0, col);
      if (place.row_step == 1) {
        for (std::size_t row = 0; row < rows; ++row) y[row] = from[row * cols + col];
      } else {
        for (std::size_t row = 0; row < rows; ++row) {
          y[static_cast<Size>(row) * place.row_step] = from[row * cols + col];
        }
      }
    }
    return;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const T* const x = from + row * cols;
    T* const y = at(row, 0);
    if (place.col_step == 1) {
      std::memcpy(y, x, cols * sizeof(T));
    } else {
      for (std::size_t col = 0; col < cols; ++col)
        y[static_cast<Size>(col) * place.col_step] = x[col];
    }
  }
}

}  // namespace tilewright::cpu
