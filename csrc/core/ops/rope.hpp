#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/call.hpp"
#include "core/head_rows.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct RopeRequest {
  BufferRange x, cos, sin, positions, output;  ///< positions may be null
  HeadRows x_rows, output_rows;
  Size batch, heads, seq, head_dim, rotary_dim, table_rows, position;
  bool of_places;  ///< positions has a number for each place, else one for each sequence
  RopePairing pairing;
  bool inverse;
  DType dtype;

  bool in_place() const { return x == output; }
  /// Whether rows lie behind each other in both.
  bool contiguous() const {
    const auto all = [&](const HeadRows& rows) {
      return rows.start == 0 && rows.seq == head_dim && rows.head == seq * head_dim &&
             rows.batch == heads * rows.head;
    };
    return all(x_rows) && all(output_rows);
  }

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.cos, Access::read);
    visit(r.sin, Access::read);
    visit(r.positions, Access::read);
    visit(r.output,
          AttentionRequest::access(r.output, r.batch * r.heads * r.seq * r.head_dim, r.dtype));
  }
  static void head_rows(auto& r, const auto& visit) {
    visit(r.x, r.x_rows, r.dtype);
    visit(r.output, r.output_rows, r.dtype);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.rope(q.x[0], q.x[1], q.x[2], q.x[3], 1, 1, 8, 8, 8, 0, q.dtype);
  }
};

inline std::optional<RopeRequest> checked_rope(const Call& call, const MapOperand& x, Buffer cos,
                                               Buffer sin, const MapOperand& output, Size batch,
                                               Size heads, Size seq, Size head_dim, Size table_rows,
                                               Size position, DType dtype, RopePairing pairing,
                                               std::optional<Size> rotary_dim,
                                               std::optional<Buffer> positions,
                                               Size positions_per_sequence, bool inverse) {
  call.not_negative("batch", batch);
  call.not_negative("heads", heads);
  call.not_negative("seq", seq);
  call.positive("head_dim", head_dim);
  const Size rotated = rotary_dim.value_or(head_dim);
  call.positive(rotary_dim ? "rotary_dim" : "head_dim", rotated);
  if (rotated % 2 != 0) {
    call.invalid(
        text(rotary_dim ? "rotary_dim" : "head_dim", " is ", rotated, ", expected an even number"));
  }
  if (rotated > head_dim) {
    call.invalid(text("rotary_dim is ", rotated, ", expected at most head_dim ", head_dim));
  }
  call.not_negative("table_rows", table_rows);
  call.not_negative("position", position);
  constexpr Size most = std::numeric_limits<std::int32_t>::max();
  if (positions) {
    if (position != 0) {
      call.invalid(text("position is ", position, ", expected 0 with positions"));
    }
    if (positions_per_sequence != 1 && positions_per_sequence != seq) {
      call.invalid(
          text("positions_per_sequence is ", positions_per_sequence, ", expected 1 or seq ", seq));
    }
    if (std::max(table_rows, seq) > most) {
      call.invalid(text("table_rows ", table_rows, " and seq ", seq,
                        " are more than the int32 of positions can count"));
    }
  } else {
    if (positions_per_sequence != 1) {
      call.invalid(text("positions_per_sequence is ", positions_per_sequence,
                        ", expected 1 without positions"));
    }
    if (call.add(position, seq) > table_rows) {
      call.invalid(text("position ", position, " and seq ", seq, " reach past the ", table_rows,
                        " rows of cos and sin"));
    }
  }
  call.float_dtype(dtype);
  call.known("pairing", pairing);
  RopeRequest r;
  const Shape4 shape{batch, heads, seq, head_dim};
  const Size of_x = call.product({batch, heads, seq, head_dim});
  r.x = check_rows(call, "x", x, shape, all_dims, dtype, Access::read, r.x_rows);
  r.cos = call.buffer("cos", cos, call.mul(table_rows, rotated / 2), dtype);
  r.sin = call.buffer("sin", sin, call.mul(table_rows, rotated / 2), dtype);
  r.output =
      check_rows(call, "output", output, shape, all_dims, dtype, Access::write, r.output_rows);
  if (positions) {
    const Size count = call.mul(batch, positions_per_sequence);
    r.positions = call.buffer("positions", *positions, count, DType::int32);
    call.apart("output", r.output, "positions", r.positions);
  }
  const auto same_rows = [&] {
    return r.x_rows.batch == r.output_rows.batch && r.x_rows.head == r.output_rows.head &&
           r.x_rows.seq == r.output_rows.seq;
  };
  if (r.x && r.x == r.output && !same_rows()) {
    call.overlap("output", r.output, "x", r.x, "pass the same strides for both");
  }
  call.apart_or_same("output", r.output, "x", r.x);
  call.apart("output", r.output, "cos", r.cos);
  call.apart("output", r.output, "sin", r.sin);
  r.batch = batch;
  r.heads = heads;
  r.seq = seq;
  r.head_dim = head_dim;
  r.rotary_dim = rotated;
  r.table_rows = table_rows;
  r.position = position;
  r.of_places = positions && positions_per_sequence == seq && seq != 1;
  r.pairing = pairing;
  r.inverse = inverse;
  r.dtype = dtype;
  if (of_x == 0) return std::nullopt;
  if (table_rows == 0) call.invalid("table_rows is 0, expected 1 or more");
  return r;
}

}  // namespace tilewright
