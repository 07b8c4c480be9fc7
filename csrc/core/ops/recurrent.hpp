#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/call.hpp"
#include "core/map_operands.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

constexpr bool is_gru(RecurrentCell cell) {
  return cell == RecurrentCell::gru || cell == RecurrentCell::gru_reset_before;
}

constexpr Size gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : is_gru(cell) ? 3 : 1;
}

struct RecurrentRequest {
  RecurrentCell cell;
  BufferRange inputs, weights, outputs;  ///< without steps inputs and outputs are null
  HeadRows input_rows, output_rows;      ///< the head is the step, and seq is not used
  BufferRange initial_hidden, initial_cell, final_hidden, final_cell;  ///< may be null
  BufferRange lengths, bias, peepholes, projection;                    ///< may be null
  Size steps, batch, hidden, gates;
  Size out;  ///< of a hidden state: hidden, or rows of the projection
  bool reverse;
  float clip;  ///< infinity where nothing is clipped
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.inputs, Access::read);
    visit(r.weights, Access::read);
    visit(r.outputs, AttentionRequest::access(r.outputs, r.steps * r.batch * r.out, r.dtype));
    visit(r.initial_hidden, Access::read);
    visit(r.initial_cell, Access::read);
    visit(r.final_hidden, Access::write);
    visit(r.final_cell, Access::write);
    visit(r.lengths, Access::read);
    visit(r.bias, Access::read);
    visit(r.peepholes, Access::read);
    visit(r.projection, Access::read);
  }
  static void head_rows(auto& r, const auto& visit) {
    if (r.steps == 0) return;
    visit(r.inputs, r.input_rows, r.dtype);
    visit(r.outputs, r.output_rows, r.dtype);
  }
  static void values(const RecurrentRequest& r, const auto& visit) {
    visit(packed(r.cell, r.reverse, r.dtype));
    r.input_rows.values(visit);
    r.output_rows.values(visit);
    for (const Size size : {r.steps, r.batch, r.hidden, r.out}) visit(size);
    visit(r.clip);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.recurrent(q.kind_or(RecurrentCell::rnn_tanh), q.x[0], q.x[1], q.x[2], 2, 2, 2, {}, {}, {},
                 {}, {}, {}, {}, {}, {}, false, {}, q.dtype);
  }
};

/// [steps, batch, length] of a recurrent layer: what the operand touches, and how its rows lie.
inline BufferRange recurrent_rows(const Call& call, std::string_view name,
                                  const MapOperand& operand, const std::array<Size, 3>& shape,
                                  DType dtype, bool is_output, HeadRows& rows) {
  const RowStrides by_rows(shape);
  const auto checked = check_operand(call, name, operand, shape, by_rows, dtype, is_output,
                                     "steps, batch and what a step has");
  rows = {};
  if (!checked) return {};
  const std::span<const Size> strides = by_rows.of(operand);
  const auto refuse = [&](std::size_t i, std::string_view expected) {
    call.invalid(text(name, ".strides[", i, "] is ", strides[i], ", expected ", expected,
                      "; copy it to where its rows lie so"));
  };
  for (std::size_t i = 0; i < 2; ++i) {
    if (shape[i] > 1 && strides[i] < 0) refuse(i, "0 or more");
  }
  if (shape[2] > 1 && strides[2] != 1) refuse(2, "1, the elements side by side");
  // Where there is a single place, its stride is not looked at.
  rows.batch = shape[1] > 1 ? strides[1] : 0;
  rows.head = shape[0] > 1 ? strides[0] : 0;
  const auto [first, past] = checked->place;
  return {checked->operand.allocation, static_cast<std::uint64_t>(first),
          static_cast<std::uint64_t>(past - first)};
}

inline std::optional<RecurrentRequest> checked_recurrent(
    const Call& call, RecurrentCell cell, const MapOperand& inputs, Buffer weights,
    const MapOperand& outputs, Size steps, Size batch, Size hidden,
    std::optional<Buffer> initial_hidden, std::optional<Buffer> initial_cell,
    std::optional<Buffer> final_hidden, std::optional<Buffer> final_cell,
    std::optional<Buffer> lengths, std::optional<Buffer> bias, std::optional<Buffer> peepholes,
    std::optional<Buffer> projection, std::optional<Size> projected, bool reverse,
    std::optional<double> clip, DType dtype) {
  call.known("cell", cell);
  call.not_negative("steps", steps);
  call.not_negative("batch", batch);
  call.positive("hidden", hidden);
  call.known("dtype", dtype);
  if (dtype != DType::float32 && dtype != DType::float16 && dtype != DType::float64) {
    call.invalid(text("dtype is ", to_string(dtype), ", expected float32, float16 or float64"));
  }
  const auto only_of = [&](std::string_view name, bool given, RecurrentCell own) {
    if (given && cell != own) {
      call.invalid(text(name, " is given, expected none of ", to_string(cell), "; only ",
                        to_string(own), " has it"));
    }
  };
  only_of("initial_cell", initial_cell.has_value(), RecurrentCell::lstm);
  only_of("final_cell", final_cell.has_value(), RecurrentCell::lstm);
  only_of("peepholes", peepholes.has_value(), RecurrentCell::lstm);
  only_of("projection", projection.has_value(), RecurrentCell::lstm);
  if (bias && peepholes) {
    call.invalid("bias is given beside peepholes, expected none there; add it to inputs");
  }
  if (projected) {
    call.positive("projected", *projected);
    if (!projection) {
      call.invalid(text("projected is ", *projected, ", expected none without projection"));
    }
  } else if (projection) {
    call.invalid("projected is missing, expected the rows of projection");
  }
  RecurrentRequest r;
  r.clip = std::numeric_limits<float>::infinity();
  if (clip) {
    call.positive_finite("clip", *clip);
    r.clip = static_cast<float>(*clip);
    if (!std::isfinite(r.clip) || r.clip == 0) {
      call.invalid(text("clip is ", *clip, ", which is out of the range of float32"));
    }
  }
  r.cell = cell;
  r.steps = steps;
  r.batch = batch;
  r.hidden = hidden;
  r.gates = gates_of(cell);
  r.out = projected.value_or(hidden);
  r.reverse = reverse;
  r.dtype = dtype;

  const Size gate_rows = call.mul(r.gates, hidden);
  const auto optional = [&](std::string_view name, const std::optional<Buffer>& buffer,
                            Size elements, DType of) {
    return buffer ? call.buffer(name, *buffer, elements, of) : BufferRange();
  };
  r.inputs =
      recurrent_rows(call, "inputs", inputs, {steps, batch, gate_rows}, dtype, false, r.input_rows);
  r.weights = call.buffer("weights", weights, call.mul(gate_rows, r.out), dtype);
  r.outputs =
      recurrent_rows(call, "outputs", outputs, {steps, batch, r.out}, dtype, true, r.output_rows);
  const Size hidden_states = call.mul(batch, r.out), cell_states = call.mul(batch, hidden);
  r.initial_hidden = optional("initial_hidden", initial_hidden, hidden_states, dtype);
  r.initial_cell = optional("initial_cell", initial_cell, cell_states, dtype);
  r.final_hidden = optional("final_hidden", final_hidden, hidden_states, dtype);
  r.final_cell = optional("final_cell", final_cell, cell_states, dtype);
  r.lengths = optional("lengths", lengths, batch, DType::int32);
  r.bias = optional("bias", bias, call.mul(2, gate_rows), dtype);
  r.peepholes = optional("peepholes", peepholes, call.mul(3, hidden), dtype);
  r.projection = optional("projection", projection, call.mul(r.out, hidden), dtype);

  using Named = std::pair<std::string_view, const BufferRange&>;
  const std::array<Named, 3> written{
      Named{"outputs", r.outputs}, {"final_hidden", r.final_hidden}, {"final_cell", r.final_cell}};
  const std::array<Named, 8> read{Named{"inputs", r.inputs},
                                  {"weights", r.weights},
                                  {"initial_hidden", r.initial_hidden},
                                  {"initial_cell", r.initial_cell},
                                  {"lengths", r.lengths},
                                  {"bias", r.bias},
                                  {"peepholes", r.peepholes},
                                  {"projection", r.projection}};
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [output_name, output] = written[i];
    if (!output) continue;
    for (const auto& [name, input] : read) {
      if ((i == 1 && name == "initial_hidden") || (i == 2 && name == "initial_cell")) {
        call.apart_or_same(output_name, output, name, input);
      } else {
        call.apart(output_name, output, name, input);
      }
    }
    for (std::size_t other = 0; other < i; ++other) {
      call.apart(output_name, output, written[other].first, written[other].second);
    }
  }
  // What backends keep of a step has bytes that can be counted, whatever lies with strides of 0.
  call.product({batch, std::max(hidden, r.out), r.gates, 64});
  const bool only_keeps = steps == 0 && !r.final_hidden && !r.final_cell;
  if (batch == 0 || only_keeps) return std::nullopt;
  return r;
}

}  // namespace tilewright
