#include <algorithm>

#include "core/ops/linear.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/windows.hpp"
#include "gpu/plan.hpp"

// Products of matrices of which one binding does not hold all: products, else rows of A, else rows
// of a transposed B, at a time. Where k would have to be cut they are left to what refuses them.
namespace tilewright::gpu {

namespace {

Lines lines(Size pitch, Size length, DType dtype) {
  return {bytes_of(pitch, dtype), bytes_of(length, dtype)};
}

/// Elements from the first to the last of rows.
Size reach(Size rows, Size columns, Size ld) {
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * ld + columns;
}

bool is_cut(Size part, Size all) { return part != 0 && part != all; }

}  // namespace

bool GpuBackend::gemm_windows(const GemmRequest& r) {
  const DeviceLimits& limits = device_->limits();
  const Size rows_a = r.trans_a ? r.k : r.m, columns_a = r.trans_a ? r.m : r.k;
  const Size rows_b = r.trans_b ? r.n : r.k, columns_b = r.trans_b ? r.k : r.n;
  GemmRequest part = r;
  if (r.batch_count > 1) {
    const Size batches =
        lines_of_window(limits, r.batch_count,
                        {lines(r.stride_a, reach(rows_a, columns_a, r.lda), r.dtype),
                         lines(r.stride_b, reach(rows_b, columns_b, r.ldb), r.dtype),
                         lines(r.stride_c, reach(r.m, r.n, r.ldc), r.output_dtype)});
    if (!is_cut(batches, r.batch_count)) return false;
    for (Size first = 0; first < r.batch_count; first += batches) {
      part.batch_count = std::min(batches, r.batch_count - first);
      part.a = behind(r.a, bytes_of(first * r.stride_a, r.dtype));
      part.b = behind(r.b, bytes_of(first * r.stride_b, r.dtype));
      part.c = behind(r.c, bytes_of(first * r.stride_c, r.output_dtype));
      launch_gemm(part);
    }
    return true;
  }
  if (!r.trans_a) {
    const Size rows = lines_of_window(
        limits, r.m, {lines(r.lda, r.k, r.dtype), lines(r.ldc, r.n, r.output_dtype)});
    if (is_cut(rows, r.m)) {
      for (Size first = 0; first < r.m; first += rows) {
        part.m = std::min(rows, r.m - first);
        part.a = behind(r.a, bytes_of(first * r.lda, r.dtype));
        part.c = behind(r.c, bytes_of(first * r.ldc, r.output_dtype));
        launch_gemm(part);
      }
      return true;
    }
  }
  if (!r.trans_b) return false;
  const Size columns =
      lines_of_window(limits, r.n, {lines(r.ldb, r.k, r.dtype), lines(1, 1, r.output_dtype)});
  if (!is_cut(columns, r.n)) return false;
  for (Size first = 0; first < r.n; first += columns) {
    part.n = std::min(columns, r.n - first);
    part.b = behind(r.b, bytes_of(first * r.ldb, r.dtype));
    part.c = behind(r.c, bytes_of(first, r.output_dtype));
    launch_gemm(part);
  }
  return true;
}

bool GpuBackend::linear_windows(const LinearRequest& r) {
  const DeviceLimits& limits = device_->limits();
  LinearRequest part = r;
  const Size rows =
      lines_of_window(limits, r.m, {lines(r.ldx, r.k, r.dtype), lines(r.ldo, r.n, r.dtype)});
  if (is_cut(rows, r.m)) {
    for (Size first = 0; first < r.m; first += rows) {
      part.m = std::min(rows, r.m - first);
      part.x = behind(r.x, bytes_of(first * r.ldx, r.dtype));
      part.out = behind(r.out, bytes_of(first * r.ldo, r.dtype));
      launch_linear(part);
    }
    return true;
  }
  // Rows of weights that belong together lie apart.
  if (!r.trans_weights || r.is_gated) return false;
  const Size columns =
      lines_of_window(limits, r.n, {lines(r.ldw, r.k, r.dtype), lines(1, 1, r.dtype)});
  if (!is_cut(columns, r.n)) return false;
  for (Size first = 0; first < r.n; first += columns) {
    part.n = std::min(columns, r.n - first);
    part.weights = behind(r.weights, bytes_of(first * r.ldw, r.dtype));
    part.out = behind(r.out, bytes_of(first, r.dtype));
    if (r.bias) part.bias = behind(r.bias, bytes_of(first, r.dtype));
    launch_linear(part);
  }
  return true;
}

}  // namespace tilewright::gpu
