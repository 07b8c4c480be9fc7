#pragma once

#include <array>
#include <span>

#include "core/any_float.hpp"
#include "core/call.hpp"

namespace tilewright {

inline constexpr std::size_t pool_axes = 3;

/// Of one axis: output p has the places p * stride - pad + k * dilation for k < window.
struct PoolAxis {
  Size length = 1, out = 1;
  Size window = 1, stride = 1, pad = 0, dilation = 1;
};

/// Of all axes; those in front that a call lacks have one element and one output.
struct PoolWindows {
  std::array<PoolAxis, pool_axes> axes;
  /// An output p has the places from p * length / out, rounded down, to (p + 1) * length / out,
  /// rounded up.
  bool adaptive = false;

  Size elements() const { return axes[0].length * axes[1].length * axes[2].length; }
  Size outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
};

/// Sizes as a call gives them.
struct PoolSizes {
  std::span<const Size> shape, output_shape, window, stride, pad, dilation;
};

PoolWindows checked_windows(const Call& call, Size planes, const PoolSizes& sizes);
/// What sums are over belongs to means, and places to max.
void check_pool_op(const Call& call, PoolOp op, double divisor, bool has_places,
                   const PoolWindows& windows);

}  // namespace tilewright
