#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/checked_rows.hpp"
#include "core/quantized.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct QuantizedMatmulRequest {
  BufferRange x, packed, y;
  QuantFormat format;
  Size m, n, k, ldx, ldy;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.packed, Access::read);
    // What lies between the rows stays.
    visit(r.y, r.m > 1 && r.ldy > r.n ? Access::update : Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.quantized_matmul(q.x[0], q.x[1], q.x[2], q.kind_or(QuantFormat::q8_0), 1, 8, 256, 256, 8,
                        q.dtype);
  }
};

inline std::optional<QuantizedMatmulRequest> checked_quantized_matmul(const Call& call, Buffer x,
                                                                      Buffer packed, Buffer y,
                                                                      QuantFormat format, Size m,
                                                                      Size n, Size k, Size ldx,
                                                                      Size ldy, DType dtype) {
  call.known("format", format);
  call.not_negative("m", m);
  call.not_negative("n", n);
  call.positive("k", k);
  call.float_dtype(dtype);
  QuantizedMatmulRequest r;
  const auto matrix = [&](std::string_view name, Buffer handle, Size rows, Size cols,
                          std::string_view ld_name, Size ld, std::string_view least) {
    return checked_rows(call, name, handle, rows, cols, ld_name, ld, least, dtype);
  };
  r.x = matrix("x", x, m, k, "ldx", ldx, "k");
  r.packed = checked_planes(call, packed, format, n, "k", k);
  r.y = matrix("y", y, m, n, "ldy", ldy, "n");
  call.apart("y", r.y, "x", r.x);
  call.apart("y", r.y, "packed", r.packed);
  r.format = format;
  r.m = m;
  r.n = n;
  r.k = k;
  r.ldx = ldx;
  r.ldy = ldy;
  r.dtype = dtype;
  if (m == 0 || n == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
