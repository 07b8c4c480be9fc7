#pragma once

#include "core/pool_windows.hpp"

namespace tilewright {

/// What a window has of an axis: its first element, how many, each `dilation` behind the one
/// before, and how many places count in a mean.
struct PoolSpan {
  Size first, count, counted;
};

PoolSpan pool_span(const PoolAxis& axis, bool adaptive, PoolOp op, Size output);

/// How many places count in each window, where that is the same number for all; else 0.
double common_count(const PoolWindows& windows, PoolOp op);

}  // namespace tilewright
