#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/sample_axes.hpp"

namespace tilewright {

struct GridSampleRequest {
  BufferRange input, grid, output;
  SampleSizes sizes;
  SampleMode mode;
  SamplePadding padding;
  bool align_corners;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.grid, Access::read);
    visit(r.output, Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 2> two{2, 2};
    be.grid_sample(q.x[0], q.x[1], q.x[2], 1, 1, two, two, SampleMode::bilinear,
                   SamplePadding::zeros, false, q.dtype);
  }
};

inline std::optional<GridSampleRequest> checked_grid_sample(
    const Call& call, Buffer input, Buffer grid, Buffer output, Size batch, Size channels,
    std::span<const Size> shape, std::span<const Size> output_shape, SampleMode mode,
    SamplePadding padding, bool align_corners, DType dtype) {
  GridSampleRequest r;
  r.sizes = checked_sample(call, batch, channels, shape, output_shape, mode, padding, dtype);
  r.input = call.buffer("input", input, r.sizes.inputs, dtype);
  r.grid = call.buffer("grid", grid, r.sizes.coordinates, dtype);
  r.output = call.buffer("output", output, r.sizes.outputs, dtype);
  call.apart("output", r.output, "input", r.input);
  call.apart("output", r.output, "grid", r.grid);
  r.mode = mode;
  r.padding = padding;
  r.align_corners = align_corners;
  r.dtype = dtype;
  if (r.sizes.outputs == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
