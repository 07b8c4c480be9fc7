#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/pool_windows.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct PoolBackwardRequest {
  BufferRange grad_output, grad_input;
  BufferRange places;  ///< of max; else null
  PoolOp op;
  Size planes;
  PoolWindows windows;
  double divisor;  ///< 0: what the windows hold
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.grad_output, Access::read);
    visit(r.grad_input, Access::write);
    visit(r.places, Access::read);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    constexpr std::array<Size, 1> four{4}, two{2}, none{0}, one{1};
    const PoolOp op = q.kind_or(PoolOp::max);
    be.pool_backward(op, q.x[0], q.x[1], 1, four, two, two, two, none, one, 0,
                     op == PoolOp::max ? std::optional(q.x[2]) : std::nullopt, q.dtype);
  }
};

inline std::optional<PoolBackwardRequest> checked_pool_backward(
    const Call& call, PoolOp op, Buffer grad_output, Buffer grad_input, Size planes,
    std::span<const Size> shape, std::span<const Size> output_shape, std::span<const Size> window,
    std::span<const Size> stride, std::span<const Size> pad, std::span<const Size> dilation,
    double divisor, std::optional<Buffer> places, DType dtype) {
  call.known("op", op);
  any_float(call, dtype);
  PoolBackwardRequest r;
  r.windows = checked_windows(call, planes, {shape, output_shape, window, stride, pad, dilation});
  const Size inputs = call.mul(planes, call.product(shape));
  const Size outputs = call.mul(planes, call.product(output_shape));
  check_pool_op(call, op, divisor, places.has_value(), r.windows);
  if (op == PoolOp::max && !places) {
    call.invalid("places are missing, expected those that pool gave: op is max");
  }
  r.grad_output = call.buffer("grad_output", grad_output, outputs, dtype);
  r.grad_input = call.buffer("grad_input", grad_input, inputs, dtype);
  call.apart("grad_input", r.grad_input, "grad_output", r.grad_output);
  if (places) {
    r.places = call.buffer("places", *places, outputs, DType::int32);
    call.apart("grad_input", r.grad_input, "places", r.places);
  }
  r.op = op;
  r.planes = planes;
  r.divisor = divisor;
  r.dtype = dtype;
  if (planes == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
