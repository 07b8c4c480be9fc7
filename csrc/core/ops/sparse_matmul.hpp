#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/call.hpp"
#include "core/requests.hpp"
#include "core/text.hpp"

namespace tilewright {

struct SparseMatmulRequest {
  BufferRange offsets, columns, elements, x, y;
  Size rows, cols, nnz, n, ldx, ldy;
  double alpha, beta;
  bool is_complex;
  DType dtype;
  Size block_rows, block_cols;  ///< both 1 for CSR; rows, cols and nnz are of blocks
  /// Strides are 0 where batch is 1.
  Size batch, stride_offsets, stride_columns, stride_values, stride_x, stride_y;

  static void operands(auto& r, const auto& visit) {
    visit(r.offsets, Access::read);
    visit(r.columns, Access::read);
    visit(r.elements, Access::read);
    visit(r.x, Access::read);
    const bool gaps = r.ldy != r.n || (r.batch > 1 && r.stride_y != r.rows * r.block_rows * r.n);
    visit(r.y, gaps || r.beta != 0 ? Access::update : Access::write);
  }
  static void values(const SparseMatmulRequest& r, const auto& visit) {
    for (const Size size :
         {r.rows, r.cols, r.nnz, r.n, r.ldx, r.ldy, r.block_rows, r.block_cols, r.batch}) {
      visit(size);
    }
    visit(std::bit_cast<std::uint64_t>(r.alpha));
    visit(std::bit_cast<std::uint64_t>(r.beta));
    visit(packed(r.is_complex, r.dtype));
    if (r.batch == 1) return;
    for (const Size stride :
         {r.stride_offsets, r.stride_columns, r.stride_values, r.stride_x, r.stride_y}) {
      visit(stride);
    }
  }
  /// By this supports() asks, of small buffers x. They hold anything: a matrix without elements.
  static void ask(auto& be, const auto& q) {
    be.sparse_matmul(q.x[0], q.x[1], q.x[2], q.x[3], q.x[4], 2, 2, 0, 1, 1, 1, 1, 0, q.is_complex(),
                     q.dtype);
  }

  /// Numbers of dtype in so many elements.
  Size numbers(Size elements) const { return is_complex ? 2 * elements : elements; }
};

/// Checks the operands of a sparse product: how many pieces of each there are, and of what.
class SparseOperands {
 public:
  SparseOperands(const Call& call, Size batch, bool is_complex, DType dtype)
      : call_(call), batch_(batch), width_(is_complex ? 2 : 1), dtype_(dtype) {}

  BufferRange indices(std::string_view name, Buffer handle, Size count, Size stride) const {
    return call_.buffer(name, handle, spanned(name, count, stride), DType::int32);
  }
  BufferRange numbers(std::string_view name, Buffer handle, Size count, Size stride) const {
    return call_.buffer(name, handle, call_.mul(width_, spanned(name, count, stride)), dtype_);
  }
  /// The elements that a dense matrix spans.
  Size matrix(std::string_view name, Size rows, Size n, Size ld) const {
    const bool empty = rows == 0 || n == 0;
    if (ld < std::max<Size>(n, 1) && !(empty && ld == 0)) {
      call_.invalid(text("ld", name, " is ", ld, ", expected at least ", std::max<Size>(n, 1),
                         ", the row length of ", name));
    }
    return empty ? 0 : call_.spanned(name, rows, ld, n);
  }

 private:
  Size spanned(std::string_view name, Size count, Size stride) const {
    return count == 0 || batch_ == 0 ? 0 : call_.spanned(name, batch_, stride, count);
  }

  const Call& call_;
  const Size batch_, width_;
  const DType dtype_;
};

inline std::optional<SparseMatmulRequest> checked_sparse_matmul(
    const Call& call, Buffer offsets, Buffer columns, Buffer values, Buffer x, Buffer y, Size rows,
    Size cols, Size nnz, Size n, Size ldx, Size ldy, double alpha, double beta, bool is_complex,
    DType dtype, Size block_rows, Size block_cols, Size batch, Size stride_offsets,
    Size stride_columns, Size stride_values, Size stride_x, Size stride_y) {
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.not_negative("nnz", nnz);
  call.not_negative("n", n);
  call.positive("block_rows", block_rows);
  call.positive("block_cols", block_cols);
  call.not_negative("batch", batch);
  call.not_negative("stride_offsets", stride_offsets);
  call.not_negative("stride_columns", stride_columns);
  call.not_negative("stride_values", stride_values);
  call.not_negative("stride_x", stride_x);
  call.not_negative("stride_y", stride_y);
  call.known("dtype", dtype);
  const bool half = dtype == DType::float16 && !is_complex;
  if (dtype != DType::float32 && dtype != DType::float64 && !half) {
    call.invalid(text("dtype is ", to_string(dtype), ", expected float32 or float64",
                      is_complex ? " of complex numbers" : ", or float16"));
  }
  const SparseOperands of(call, batch, is_complex, dtype);
  const Size elements = call.product({nnz, block_rows, block_cols});
  const Size of_x = of.matrix("x", call.mul(cols, block_cols), n, ldx);
  const Size of_y = of.matrix("y", call.mul(rows, block_rows), n, ldy);
  if (batch > 1 && stride_y < of_y) {
    call.invalid(text("stride_y is ", stride_y, ", expected at least ", of_y,
                      ", so that the results do not overlap"));
  }
  SparseMatmulRequest r;
  r.offsets = of.indices("offsets", offsets, call.add(rows, 1), stride_offsets);
  r.columns = of.indices("columns", columns, nnz, stride_columns);
  r.elements = of.numbers("values", values, elements, stride_values);
  r.x = of.numbers("x", x, of_x, stride_x);
  r.y = of.numbers("y", y, of_y, stride_y);
  if (nnz > std::numeric_limits<std::int32_t>::max()) {
    call.invalid(text("nnz is ", nnz, ", more than offsets of int32 count"));
  }
  call.apart("y", r.y, "offsets", r.offsets);
  call.apart("y", r.y, "columns", r.columns);
  call.apart("y", r.y, "values", r.elements);
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
  r.block_rows = block_rows;
  r.block_cols = block_cols;
  r.batch = batch;
  const auto stride = [&](Size given) { return batch > 1 ? given : 0; };
  r.stride_offsets = stride(stride_offsets);
  r.stride_columns = stride(stride_columns);
  r.stride_values = stride(stride_values);
  r.stride_x = stride(stride_x);
  r.stride_y = stride(stride_y);
  if (rows == 0 || n == 0 || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
