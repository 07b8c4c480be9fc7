#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/quantized.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct DequantizeRequest {
  BufferRange packed, output;
  QuantFormat format;
  Size groups;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.packed, Access::read);
    visit(r.output, Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.dequantize(q.x[0], q.x[1], q.kind_or(QuantFormat::q8_0), 1, 256, q.dtype);
  }
};

inline std::optional<DequantizeRequest> checked_dequantize(const Call& call, Buffer packed,
                                                           Buffer output, QuantFormat format,
                                                           Size rows, Size cols, DType dtype) {
  call.known("format", format);
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.float_dtype(dtype);
  DequantizeRequest r;
  r.packed = checked_planes(call, packed, format, rows, "cols", cols);
  r.output = call.buffer("output", output, rows * cols, dtype);
  call.apart("output", r.output, "packed", r.packed);
  r.format = format;
  r.groups = rows * cols / quant_group;
  r.dtype = dtype;
  if (r.groups == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
