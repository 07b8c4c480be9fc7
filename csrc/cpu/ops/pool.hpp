#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/ops/pool.hpp"
#include "core/pool_spans.hpp"
#include "cpu/convert.hpp"
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

/// Whether means of small planes, of which vectors' lanes have one each, take less. The divisor is
/// 0 where what is counted in a window is.
bool takes_pool_lanes(const PoolRequest& request, const PoolTables& tables);
template <class T>
void pool_lanes(const PoolRequest& request, const PoolTables& tables, double divisor);

extern template void pool_lanes<float>(const PoolRequest&, const PoolTables&, double);
extern template void pool_lanes<Half>(const PoolRequest&, const PoolTables&, double);

}  // namespace tilewright::cpu
