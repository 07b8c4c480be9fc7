#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

/// x as [rows, seq, head_dim].
struct RopeRequest {
  BufferRange x, cos, sin, output;
  Size rows, seq, head_dim, position;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.cos, Access::read);
    visit(r.sin, Access::read);
    visit(r.output, Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.rope(q.x[0], q.x[1], q.x[2], q.x[3], 1, 1, 8, 8, 8, 0, q.dtype);
  }
};

inline std::optional<RopeRequest> checked_rope(const Call& call, Buffer x, Buffer cos, Buffer sin,
                                               Buffer output, Size batch, Size heads, Size seq,
                                               Size head_dim, Size table_rows, Size position,
                                               DType dtype) {
  call.not_negative("batch", batch);
  call.not_negative("heads", heads);
  call.not_negative("seq", seq);
  call.positive("head_dim", head_dim);
  if (head_dim % 2 != 0) call.invalid(text("head_dim is ", head_dim, ", expected an even number"));
  call.not_negative("table_rows", table_rows);
  call.not_negative("position", position);
  if (call.add(position, seq) > table_rows) {
    call.invalid(text("position ", position, " and seq ", seq, " reach past the ", table_rows,
                      " rows of cos and sin"));
  }
  call.float_dtype(dtype);
  RopeRequest r;
  const Size of_x = call.product({batch, heads, seq, head_dim});
  r.x = call.buffer("x", x, of_x, dtype);
  r.cos = call.buffer("cos", cos, call.mul(table_rows, head_dim / 2), dtype);
  r.sin = call.buffer("sin", sin, call.mul(table_rows, head_dim / 2), dtype);
  r.output = call.buffer("output", output, of_x, dtype);
  call.apart_or_same("output", r.output, "x", r.x);
  call.apart("output", r.output, "cos", r.cos);
  call.apart("output", r.output, "sin", r.sin);
  r.rows = of_x == 0 ? 0 : batch * heads;
  r.seq = seq;
  r.head_dim = head_dim;
  r.position = position;
  r.dtype = dtype;
  if (of_x == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
