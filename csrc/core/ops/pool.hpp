#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/pool_windows.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct PoolRequest {
  BufferRange input, output;
  BufferRange places;  ///< may be null
  PoolOp op;
  Size planes;
  PoolWindows windows;
  double divisor;  ///< 0: what the windows hold
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
    visit(r.places, Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 1> four{4}, two{2}, none{0}, one{1};
    be.pool(q.kind_or(PoolOp::max), q.x[0], q.x[1], 1, four, two, two, two, none, one, 0,
            std::nullopt, q.dtype);
  }
};

inline std::optional<PoolRequest> checked_pool(
    const Call& call, PoolOp op, Buffer input, Buffer output, Size planes,
    std::span<const Size> shape, std::span<const Size> output_shape, std::span<const Size> window,
    std::span<const Size> stride, std::span<const Size> pad, std::span<const Size> dilation,
    double divisor, std::optional<Buffer> places, DType dtype) {
  call.known("op", op);
  any_float(call, dtype);
  PoolRequest r;
  r.windows = checked_windows(call, planes, {shape, output_shape, window, stride, pad, dilation});
  const Size inputs = call.mul(planes, call.product(shape));
  const Size outputs = call.mul(planes, call.product(output_shape));
  check_pool_op(call, op, divisor, places.has_value(), r.windows);
  r.input = call.buffer("input", input, inputs, dtype);
  r.output = call.buffer("output", output, outputs, dtype);
  call.apart("output", r.output, "input", r.input);
  if (places) {
    r.places = call.buffer("places", *places, outputs, DType::int32);
    call.apart("places", r.places, "input", r.input);
    call.apart("places", r.places, "output", r.output);
  }
  r.op = op;
  r.planes = planes;
  r.divisor = divisor;
  r.dtype = dtype;
  if (planes == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
