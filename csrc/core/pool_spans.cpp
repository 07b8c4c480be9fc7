#include "core/pool_spans.hpp"

#include <algorithm>

namespace tilewright {

namespace {

/// Of places that are each `step` behind the one before, how many are within `room`.
Size places_within(Size room, Size step) { return room <= 0 ? 0 : (room - 1) / step + 1; }

}  // namespace

PoolSpan pool_span(const PoolAxis& axis, bool adaptive, PoolOp op, Size output) {
  if (adaptive) {
    const Size first = output * axis.length / axis.out;
    const Size count = places_within((output + 1) * axis.length, axis.out) - first;
    return {first, count, count};
  }
  const Size start = output * axis.stride - axis.pad;
  const Size skipped = places_within(-start, axis.dilation);
  const Size inside = std::min(places_within(axis.length - start, axis.dilation), axis.window);
  const Size count = std::max<Size>(inside - skipped, 0);
  const Size padded =
      std::min(places_within(axis.length + axis.pad - start, axis.dilation), axis.window);
  return {count == 0 ? 0 : start + skipped * axis.dilation, count,
          op == PoolOp::mean_padded ? padded : count};
}

double common_count(const PoolWindows& windows, PoolOp op) {
  double all = 1;
  for (const PoolAxis& axis : windows.axes) {
    const Size first = pool_span(axis, windows.adaptive, op, 0).counted;
    const Size last = pool_span(axis, windows.adaptive, op, axis.out - 1).counted;
    const bool same = windows.adaptive ? axis.out == 1 || axis.length % axis.out == 0
                                       : axis.out == 1 || (first == axis.window && last == first);
    if (!same) return 0;
    all *= static_cast<double>(first);
  }
  return all;
}

}  // namespace tilewright
