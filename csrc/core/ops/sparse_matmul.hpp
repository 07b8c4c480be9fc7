#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct SparseMatmulRequest {
  BufferRange offsets, columns, values, x, y;
  Size rows, cols, nnz, n, ldx, ldy;
  double alpha, beta;
  bool is_complex;
  DType dtype;

  static void operands(auto& r, const auto& visit) {
    visit(r.offsets, Access::read);
    visit(r.columns, Access::read);
    visit(r.values, Access::read);
    visit(r.x, Access::read);
    visit(r.y, r.ldy != r.n || r.beta != 0 ? Access::update : Access::write);
  }
  /// By this supports() asks, of small buffers x. They hold anything: a matrix without elements.
  static void ask(auto& be, const auto& q) {
    be.sparse_matmul(q.x[0], q.x[1], q.x[2], q.x[3], q.x[4], 2, 2, 0, 1, 1, 1, 1, 0, q.is_complex(),
                     q.dtype);
  }

  /// Numbers of dtype in so many elements.
  Size numbers(Size elements) const { return is_complex ? 2 * elements : elements; }
};

/// Numbers of dtype that a dense operand of a sparse product spans.
inline Size sparse_operand(const Call& call, std::string_view name, Size rows, Size n, Size ld,
                           bool is_complex) {
  const bool empty = rows == 0 || n == 0;
  if (ld < std::max<Size>(n, 1) && !(empty && ld == 0)) {
    call.invalid(text("ld", name, " is ", ld, ", expected at least ", std::max<Size>(n, 1),
                      ", the row length of ", name));
  }
  if (empty) return 0;
  return call.mul(is_complex ? 2 : 1, call.spanned(name, rows, ld, n));
}

inline std::optional<SparseMatmulRequest> checked_sparse_matmul(
    const Call& call, Buffer offsets, Buffer columns, Buffer values, Buffer x, Buffer y, Size rows,
    Size cols, Size nnz, Size n, Size ldx, Size ldy, double alpha, double beta, bool is_complex,
    DType dtype) {
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.not_negative("nnz", nnz);
  call.not_negative("n", n);
  call.known("dtype", dtype);
  const bool half = dtype == DType::float16 && !is_complex;
  if (dtype != DType::float32 && dtype != DType::float64 && !half) {
    call.invalid(text("dtype is ", to_string(dtype), ", expected float32 or float64",
                      is_complex ? " of complex numbers" : ", or float16"));
  }
  SparseMatmulRequest r;
  r.offsets = call.buffer("offsets", offsets, call.add(rows, 1), DType::int32);
  r.columns = call.buffer("columns", columns, nnz, DType::int32);
  r.values = call.buffer("values", values, call.mul(is_complex ? 2 : 1, nnz), dtype);
  r.x = call.buffer("x", x, sparse_operand(call, "x", cols, n, ldx, is_complex), dtype);
  r.y = call.buffer("y", y, sparse_operand(call, "y", rows, n, ldy, is_complex), dtype);
  if (nnz > std::numeric_limits<std::int32_t>::max()) {
    call.invalid(text("nnz is ", nnz, ", more than offsets of int32 count"));
  }
  call.apart("y", r.y, "offsets", r.offsets);
  call.apart("y", r.y, "columns", r.columns);
  call.apart("y", r.y, "values", r.values);
  call.apart("y", r.y, "x", r.x);
  r.rows = rows;
  r.cols = cols;
  r.nnz = nnz;
  r.n = n;
  r.ldx = ldx;
  r.ldy = ldy;
  r.alpha = alpha;
  r.beta = beta;
  r.is_complex = is_complex;
  r.dtype = dtype;
  if (rows == 0 || n == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
