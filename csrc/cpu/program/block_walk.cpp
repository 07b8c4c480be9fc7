#include "cpu/program/block_walk.hpp"

#include <algorithm>

#include "core/map_lines.hpp"

namespace tilewright::cpu {

namespace {

std::size_t pieces(std::size_t of, std::size_t piece) { return (of + piece - 1) / piece; }

}  // namespace

bool lies_in_order(const MapRequest& r, std::size_t operand) {
  const std::span<const Size> strides = r.strides(operand);
  Size step = 1;
  for (std::size_t d = r.rank; d-- > 0; step *= r.shape()[d]) {
    if (strides[d] != step) return false;
  }
  return true;
}

bool is_one_element(const MapRequest& r, std::size_t operand) {
  return std::ranges::all_of(r.strides(operand), [](Size stride) { return stride == 0; });
}

BlockGrid::BlockGrid(const MapRequest& r, std::size_t most)
    : BlockGrid(r, most, dimension_of_lines(r)) {}

BlockGrid::BlockGrid(const MapRequest& r, std::size_t most, std::optional<std::size_t> lines)
    : row_dim(no_rows), rows(1) {
  // Rows of two lines of floats, and for each as many columns as a block has.
  constexpr std::size_t line = 16, rows_of_lines = 2 * line, short_lines = 8, small = 256;
  const auto size = [&](std::size_t d) { return static_cast<std::size_t>(r.shape()[d]); };
  cols = std::min(size(r.rank - 1), most);
  if (r.rank > 1) {
    if (lines) {
      // Of a short one there are lines along the dimension before the last as well, and small
      // blocks take longer than lines that are read again.
      const bool is_small = size(*lines) * cols < small && size(*lines) < size(r.rank - 2);
      row_dim = size(*lines) < short_lines || is_small ? r.rank - 2 : *lines;
      rows = std::min(size(row_dim), rows_of_lines);
      // Narrow rows are taken whole: those of other operands then lie one behind the other.
      if (cols * line > most) cols = std::min(cols, most / rows);
    } else {
      row_dim = r.rank - 2;
    }
    rows = std::min(size(row_dim), most / cols);
    if (lines && rows > line) rows -= rows % line;
    if (rows == 1) row_dim = no_rows;
  }
  count = 1;
  for (std::size_t d = 0; d < r.rank; ++d) {
    count *= d == r.rank - 1 ? pieces(size(d), cols)
             : d == row_dim  ? pieces(size(d), rows)
                             : size(d);
  }
}

BlockWalk::BlockWalk(const MapRequest& request, const BlockGrid& grid, std::size_t block)
    : request_(request), grid_(grid), last_(request.rank - 1), starts_(request.operands.size()) {
  for (std::size_t d = request.rank; d-- > 0;) {
    const auto size = static_cast<std::size_t>(request.shape()[d]);
    const std::size_t step = d == last_ ? grid.cols : d == grid.row_dim ? grid.rows : 1;
    const std::size_t blocks = pieces(size, step);
    index_[d] = static_cast<Size>(block % blocks * step);
    block /= blocks;
  }
  begin_row();
}

BlockPlace BlockWalk::place(std::size_t operand) const {
  const std::span<const Size> strides = request_.strides(operand);
  return {starts_[operand] + index_[last_] * strides[last_],
          grid_.row_dim == BlockGrid::no_rows ? 0 : strides[grid_.row_dim], strides[last_],
          grid_.cols == static_cast<std::size_t>(request_.shape()[last_])};
}

void BlockWalk::next() {
  index_[last_] += static_cast<Size>(cols_);
  if (index_[last_] < request_.shape()[last_]) return measure();
  index_[last_] = 0;
  const auto move = [&](std::size_t d, Size by) {
    index_[d] += by;
    for (std::size_t i = 0; i < starts_.size(); ++i) starts_[i] += by * request_.strides(i)[d];
  };
  for (std::size_t d = last_; d-- > 0;) {
    move(d, d == grid_.row_dim ? static_cast<Size>(grid_.rows) : 1);
    if (index_[d] < request_.shape()[d]) break;
    move(d, -index_[d]);
  }
  measure();
}

void BlockWalk::begin_row() {
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const std::span<const Size> strides = request_.strides(i);
    Size at = request_.operands[i].offset;
    for (std::size_t d = 0; d < last_; ++d) at += index_[d] * strides[d];
    starts_[i] = at;
  }
  measure();
}

void BlockWalk::measure() {
  const auto left = [&](std::size_t d) {
    return static_cast<std::size_t>(request_.shape()[d] - index_[d]);
  };
  cols_ = std::min(grid_.cols, left(last_));
  rows_ = grid_.row_dim == BlockGrid::no_rows ? 1 : std::min(grid_.rows, left(grid_.row_dim));
}

}  // namespace tilewright::cpu
