#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/pool_spans.hpp"
#include "cpu/kernels/windows_table.hpp"

// A row of outputs is made of rows of the input, joined column by column, and then of windows along
// the one that they come to: of as many columns at a time as the nearest cache holds.
namespace tilewright::cpu {

/// Columns of a row that are worked on at a time.
constexpr std::size_t pool_room = 2048;

/// The windows of a call.
struct PoolTables {
  PoolTables(const PoolWindows& of, PoolOp op);

  PoolSpan span(std::size_t axis, std::size_t output) const {
    if (output < first_spans[axis].size()) return first_spans[axis][output];
    return pool_span(windows.axes[axis], windows.adaptive, op, static_cast<Size>(output));
  }

  std::size_t length(std::size_t axis) const {
    return static_cast<std::size_t>(windows.axes[axis].length);
  }
  std::size_t out(std::size_t axis) const {
    return static_cast<std::size_t>(windows.axes[axis].out);
  }
  /// Outputs whose windows have an element of an axis: the first that may, and the one behind the
  /// last.
  std::array<Size, 2> outputs_of(std::size_t axis, Size element) const;
  bool has(std::size_t axis, Size output, Size element) const;

  const PoolWindows windows;
  const PoolOp op;
  std::array<std::vector<PoolSpan>, pool_axes> first_spans;  ///< which take divisions to find
  double common;       ///< places that count in each window, or 0
  RowWindows columns;  ///< without what is behind all columns
  std::size_t reach;   ///< columns from a window's first to its last
};

}  // namespace tilewright::cpu
