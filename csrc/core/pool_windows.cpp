#include "core/pool_windows.hpp"

#include <cmath>
#include <limits>

#include "core/text.hpp"

namespace tilewright {

namespace {

void each(const Call& call, std::string_view name, std::span<const Size> sizes, std::size_t axes,
          Size least) {
  if (sizes.size() != axes) {
    call.invalid(text(name, " has ", sizes.size(), " numbers, expected ", axes,
                      axes == 0 ? ", as window has" : ", one for each axis of shape"));
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (sizes[i] < least) {
      call.invalid(text(name, "[", i, "] is ", sizes[i], ", expected ", least, " or more"));
    }
  }
}

}  // namespace

PoolWindows checked_windows(const Call& call, Size planes, const PoolSizes& sizes) {
  call.not_negative("planes", planes);
  const std::size_t axes = sizes.shape.size();
  if (axes < 1 || axes > pool_axes) {
    call.invalid(text("shape has ", axes, " dimensions, expected 1 to ", pool_axes));
  }
  each(call, "shape", sizes.shape, axes, 1);
  each(call, "output_shape", sizes.output_shape, axes, 1);
  PoolWindows windows;
  windows.adaptive = sizes.window.empty();
  const std::size_t given = windows.adaptive ? 0 : axes;
  each(call, "window", sizes.window, given, 1);
  each(call, "stride", sizes.stride, given, 1);
  each(call, "pad", sizes.pad, given, 0);
  each(call, "dilation", sizes.dilation, given, 1);
  for (std::size_t i = 0; i < axes; ++i) {
    PoolAxis& axis = windows.axes[pool_axes - axes + i];
    axis.length = sizes.shape[i];
    axis.out = sizes.output_shape[i];
    if (windows.adaptive) {
      // What backends compute.
      call.mul(call.add(axis.length, 1), call.add(axis.out, 1));
      continue;
    }
    axis.window = sizes.window[i];
    axis.stride = sizes.stride[i];
    axis.pad = sizes.pad[i];
    axis.dilation = sizes.dilation[i];
    const Size reach = call.mul(axis.window, axis.dilation);
    const Size ends = call.add(call.mul(axis.out, axis.stride), call.add(reach, axis.stride));
    call.add(ends, call.add(call.add(axis.length, axis.dilation), call.mul(2, axis.pad)));
  }
  return windows;
}

void check_pool_op(const Call& call, PoolOp op, double divisor, bool has_places,
                   const PoolWindows& windows) {
  if (!std::isfinite(divisor)) {
    call.invalid(text("divisor is ", divisor, ", expected a finite number"));
  }
  if (op == PoolOp::max) {
    if (divisor != 0) {
      call.invalid(text("divisor is ", divisor, ", expected 0: max is not divided"));
    }
  } else if (has_places) {
    call.invalid(text("places are given, expected none: op is ", to_string(op),
                      ", and only max has places"));
  }
  if (has_places && windows.elements() > std::numeric_limits<std::int32_t>::max()) {
    call.invalid(
        text("shape has ", windows.elements(), " elements, more than places of int32 count"));
  }
}

}  // namespace tilewright
