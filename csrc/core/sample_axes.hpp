#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/any_float.hpp"
#include "core/call.hpp"
#include "core/text.hpp"

// The sizes of grid_sample() and its gradients.
namespace tilewright {

inline constexpr std::size_t sample_axes = 3;

struct SampleSizes {
  Size batch = 0, channels = 0;
  std::size_t axes = 0;
  std::array<Size, sample_axes> shape{1, 1, 1};   ///< depth, height, width; of 2 axes depth is 1
  Size cells = 0, points = 0;                     ///< of one plane of the input and of the output
  Size inputs = 0, outputs = 0, coordinates = 0;  ///< elements
};

inline SampleSizes checked_sample(const Call& call, Size batch, Size channels,
                                  std::span<const Size> shape, std::span<const Size> output_shape,
                                  SampleMode mode, SamplePadding padding, DType dtype) {
  call.not_negative("batch", batch);
  call.not_negative("channels", channels);
  call.known("mode", mode);
  call.known("padding", padding);
  any_float(call, dtype);
  const std::size_t axes = shape.size();
  if (axes != 2 && axes != sample_axes) {
    call.invalid(text("shape has ", axes, " dimensions, expected 2 or 3"));
  }
  if (output_shape.size() != axes) {
    call.invalid(text("output_shape has ", output_shape.size(), " dimensions, expected ", axes,
                      " as shape has"));
  }
  if (mode == SampleMode::bicubic && axes != 2) {
    call.invalid("mode is bicubic, expected bilinear or nearest for a shape of 3 dimensions");
  }
  // Coordinates are computed as floats and then held as int32.
  constexpr Size most = Size{1} << 30;
  SampleSizes sizes;
  for (std::size_t i = 0; i < axes; ++i) {
    if (shape[i] < 1 || shape[i] > most) {
      call.invalid(text("shape[", i, "] is ", shape[i], ", expected 1 to ", most));
    }
    if (output_shape[i] < 1) {
      call.invalid(text("output_shape[", i, "] is ", output_shape[i], ", expected 1 or more"));
    }
    sizes.shape[sample_axes - axes + i] = shape[i];
  }
  sizes.batch = batch;
  sizes.channels = channels;
  sizes.axes = axes;
  sizes.cells = call.product(shape);
  sizes.points = call.product(output_shape);
  const Size planes = call.mul(batch, channels);
  sizes.inputs = call.mul(planes, sizes.cells);
  sizes.outputs = call.mul(planes, sizes.points);
  sizes.coordinates = call.product({batch, sizes.points, static_cast<Size>(axes)});
  return sizes;
}

}  // namespace tilewright
