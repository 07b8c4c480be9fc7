#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/requests.hpp"

namespace tilewright::cpu {

/// Whether an operand's elements lie side by side in the order of the shape.
bool lies_in_order(const MapRequest& request, std::size_t operand);
/// Whether they are all one element.
bool is_one_element(const MapRequest& request, std::size_t operand);

/// A shape as blocks of rows x cols elements: the columns go along the last dimension, in which the
/// outputs lie side by side, the rows along another one.
struct BlockGrid {
  /// Of at most so many elements.
  BlockGrid(const MapRequest& request, std::size_t most);
  /// With rows along `lines`, of which lines of a cache are read once, or nothing.
  BlockGrid(const MapRequest& request, std::size_t most, std::optional<std::size_t> lines);

  std::size_t elements() const { return rows * cols; }

  std::size_t row_dim;     ///< or `no_rows`
  std::size_t rows, cols;  ///< of a whole block
  std::size_t count;       ///< of all blocks

  static constexpr std::size_t no_rows = max_rank;
};

/// Where an operand's elements of a block are, in elements of its dtype.
struct BlockPlace {
  Size start, row_step, col_step;
  bool is_wide = false;  ///< whether the block has the whole last dimension

  bool operator==(const BlockPlace&) const = default;
};

/// Goes through the blocks of a grid, those along the last dimension first.
class BlockWalk {
 public:
  BlockWalk(const MapRequest& request, const BlockGrid& grid, std::size_t block);

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  BlockPlace place(std::size_t operand) const;
  void next();

 private:
  void begin_row();
  void measure();

  const MapRequest& request_;
  const BlockGrid& grid_;
  const std::size_t last_;            // dimension
  std::array<Size, max_rank> index_;  // of the block's first element
  std::vector<Size> starts_;          // of each operand at the last dimension's start
  std::size_t rows_ = 1, cols_ = 1;
};

}  // namespace tilewright::cpu
