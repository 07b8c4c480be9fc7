#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/any_float.hpp"
#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

/// One axis: output p is made of the places spans[p, 0] + k for k < spans[p, 1].
struct ResampleAxis {
  BufferRange spans, weights;
  Size length, out, taps;  ///< 0 taps: it stays as it is, and has no tables
};

struct ResampleRequest {
  BufferRange input, output;
  Size planes;
  ResampleAxis rows, columns;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.output, Access::write);
    visit(r.rows.spans, Access::read);
    visit(r.rows.weights, Access::read);
    visit(r.columns.spans, Access::read);
    visit(r.columns.weights, Access::read);
  }
  /// By this supports() asks, of small buffers x, whatever spans they hold.
  static void ask(auto& be, const auto& q) {
    constexpr Pair two{2, 2};
    be.resample(q.x[0], q.x[1], 1, two, two, q.x[2], q.x[3], 1, q.x[2], q.x[3], 1, q.dtype);
  }
};

inline std::optional<ResampleRequest> checked_resample(
    const Call& call, Buffer input, Buffer output, Size planes, const Pair& shape,
    const Pair& output_shape, Buffer row_spans, Buffer row_weights, Size row_taps,
    Buffer column_spans, Buffer column_weights, Size column_taps, DType dtype) {
  call.not_negative("planes", planes);
  for (int i = 0; i < 2; ++i) {
    call.positive(i == 0 ? "shape[0]" : "shape[1]", shape[i]);
    call.positive(i == 0 ? "output_shape[0]" : "output_shape[1]", output_shape[i]);
  }
  call.not_negative("row_taps", row_taps);
  call.not_negative("column_taps", column_taps);
  any_float(call, dtype);
  ResampleRequest r;
  r.input = call.buffer("input", input, call.product({planes, shape[0], shape[1]}), dtype);
  r.output = call.buffer("output", output, call.product({planes, output_shape[0], output_shape[1]}),
                         dtype);
  call.apart("output", r.output, "input", r.input);
  const DType weight = dtype == DType::float64 ? DType::float64 : DType::float32;
  const auto axis = [&](int i, std::string_view of, std::string_view spans_name, Buffer spans,
                        std::string_view weights_name, Buffer weights, Size taps) {
    if (taps == 0) {
      if (shape[i] != output_shape[i]) {
        call.invalid(text("output_shape[", i, "] is ", output_shape[i], ", expected ", shape[i],
                          " as shape has: ", of, " is 0"));
      }
      return ResampleAxis{{}, {}, shape[i], output_shape[i], 0};
    }
    ResampleAxis made{call.buffer(spans_name, spans, call.mul(2, output_shape[i]), DType::int32),
                      call.buffer(weights_name, weights, call.mul(output_shape[i], taps), weight),
                      shape[i], output_shape[i], taps};
    call.apart("output", r.output, spans_name, made.spans);
    call.apart("output", r.output, weights_name, made.weights);
    return made;
  };
  r.rows = axis(0, "row_taps", "row_spans", row_spans, "row_weights", row_weights, row_taps);
  r.columns = axis(1, "column_taps", "column_spans", column_spans, "column_weights", column_weights,
                   column_taps);
  r.planes = planes;
  r.dtype = dtype;
  if (planes == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
