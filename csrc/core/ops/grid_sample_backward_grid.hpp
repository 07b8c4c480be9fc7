#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/sample_axes.hpp"

namespace tilewright {

struct GridGradientRequest {
  BufferRange grad_output, input, grid, grad_grid;
  SampleSizes sizes;
  SampleMode mode;
  SamplePadding padding;
  bool align_corners;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.grad_output, Access::read);
    visit(r.input, Access::read);
    visit(r.grid, Access::read);
    visit(r.grad_grid, Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 2> two{2, 2};
    be.grid_sample_backward_grid(q.x[0], q.x[1], q.x[2], q.x[3], 1, 1, two, two,
                                 SampleMode::bilinear, SamplePadding::zeros, false, q.dtype);
  }
};

inline std::optional<GridGradientRequest> checked_grid_sample_backward_grid(
    const Call& call, Buffer grad_output, Buffer input, Buffer grid, Buffer grad_grid, Size batch,
    Size channels, std::span<const Size> shape, std::span<const Size> output_shape, SampleMode mode,
    SamplePadding padding, bool align_corners, DType dtype) {
  GridGradientRequest r;
  r.sizes = checked_sample(call, batch, channels, shape, output_shape, mode, padding, dtype);
  call.positive("channels", channels);
  r.grad_output = call.buffer("grad_output", grad_output, r.sizes.outputs, dtype);
  r.input = call.buffer("input", input, r.sizes.inputs, dtype);
  r.grid = call.buffer("grid", grid, r.sizes.coordinates, dtype);
  r.grad_grid = call.buffer("grad_grid", grad_grid, r.sizes.coordinates, dtype);
  call.apart("grad_grid", r.grad_grid, "grad_output", r.grad_output);
  call.apart("grad_grid", r.grad_grid, "input", r.input);
  call.apart("grad_grid", r.grad_grid, "grid", r.grid);
  r.mode = mode;
  r.padding = padding;
  r.align_corners = align_corners;
  r.dtype = dtype;
  if (batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
