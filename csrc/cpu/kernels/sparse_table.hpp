#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Rows of dense blocks by a vector. Columns of blocks are right; offsets are taken for no more
/// than nnz, and for no less than the one before.
template <class T>
struct BlockRows {
  const std::uint32_t* offsets;
  const std::uint32_t* columns;
  const T* values;
  const T* x;
  T* y;
  std::size_t nnz, cols;  ///< in blocks
  std::size_t lines;      ///< rows of a block
  T alpha, beta;          ///< beta 0: y is not read
};

/// y of so many lines of each block from `line` on, of the rows of blocks `first` to `last`, whose
/// blocks are those from `begin` on; gives where they end.
template <class T>
using BlockKernel = std::size_t (*)(const BlockRows<T>& rows, std::size_t first, std::size_t last,
                                    std::size_t begin, std::size_t line);

/// Blocks of which there are kernels: the columns that they have, and how many lines at a time.
inline constexpr std::size_t block_widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
inline constexpr std::size_t block_lines[] = {8, 4, 3, 2, 1};
inline constexpr std::size_t block_width_count = sizeof block_widths / sizeof block_widths[0];
inline constexpr std::size_t block_line_count = sizeof block_lines / sizeof block_lines[0];

template <class T>
struct BlockKernels {
  BlockKernel<T> of[block_width_count][block_line_count];
};

struct SparseTable {
  std::uint32_t (*largest)(const std::uint32_t* indices, std::size_t count);  ///< 0 of none
  BlockKernels<float> float32;
  BlockKernels<double> float64;
};

/// The table for usable_isa().
const SparseTable& sparse_table();

}  // namespace tilewright::cpu
