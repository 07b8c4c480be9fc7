#pragma once

#include <optional>

#include "core/ops/fft.hpp"

namespace tilewright {

/// Rows of n real numbers and the n / 2 + 1 complex ones that are the first of their transforms.
struct FftRealRequest {
  BufferRange input, roots, output;
  Size rows, n;
  double scale;
  bool inverse;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.input, Access::read);
    visit(r.roots, Access::read);
    visit(r.output, Access::write);
  }
  static void values(const auto& r, const auto& visit) {
    visit(r.rows);
    visit(r.n);
    visit(r.scale);
    visit(r.inverse);
    visit(r.dtype);
  }
};

inline std::optional<FftRealRequest> checked_fft_real(const Call& call, Buffer input, Buffer roots,
                                                      Buffer output, Size rows, Size n,
                                                      bool inverse, double scale, DType dtype) {
  call.not_negative("rows", rows);
  call.positive("n", n);
  check_fft_numbers(call, scale, dtype);
  FftRealRequest r;
  const Size real = call.mul(rows, n), halves = call.product({2, rows, n / 2 + 1});
  r.input = call.buffer("input", input, inverse ? halves : real, dtype);
  r.roots = call.buffer("roots", roots, call.mul(2, fft_tables::roots_size(n, true)), dtype);
  r.output = call.buffer("output", output, inverse ? real : halves, dtype);
  call.apart("output", r.output, "input", r.input);
  call.apart("output", r.output, "roots", r.roots);
  r.rows = rows;
  r.n = n;
  r.scale = scale;
  r.inverse = inverse;
  r.dtype = dtype;
  if (rows == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
