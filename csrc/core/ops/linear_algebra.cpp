#include <algorithm>
#include <utility>

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

struct GemmArguments {
  Transpose trans_a, trans_b;
  Size m, n, k;
  double alpha;
  Buffer a;
  Size lda;
  Buffer b;
  Size ldb;
  double beta;
  Buffer c;
  Size ldc;
  Size stride_a = 0, stride_b = 0, stride_c = 0, batch_count = 1;
  DType dtype = DType::float32, output_dtype = DType::float32;
  std::optional<Precision> rounding = std::nullopt;
};

/// The elements that a rows x cols matrix spans. The leading dimension of one without elements may
/// be 0.
inline Size span_of(const Call& call, std::string_view name, Size rows, Size cols, Size ld,
                    Size batch_count) {
  const bool empty = rows == 0 || cols == 0 || batch_count == 0;
  if (ld < std::max<Size>(cols, 1) && !(empty && ld == 0)) [[unlikely]] {
    call.invalid(text("ld", name, " is ", ld, ", expected at least ", std::max<Size>(cols, 1),
                      ", the row length of ", name, " as stored"));
  }
  return empty ? 0 : call.spanned(name, rows, ld, cols);
}

Size span_of_batch(const Call& call, std::string_view name, Size one, Size stride,
                   Size batch_count) {
  return one == 0 ? 0 : call.spanned(name, batch_count, stride, one);
}

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// What a product of integers may be.
void check_bytes(const Call& call, const GemmArguments& x) {
  const std::string_view of = to_string(x.dtype);
  if (x.output_dtype != DType::int32) {
    call.invalid(text("output_dtype is ", to_string(x.output_dtype), ", expected int32 for ", of,
                      " inputs"));
  }
  if (x.alpha != 1) call.invalid(text("alpha is ", x.alpha, ", expected 1 for ", of, " inputs"));
  if (x.beta != 0 && x.beta != 1) {
    call.invalid(text("beta is ", x.beta, ", expected 0 or 1 for ", of, " inputs"));
  }
}

/// In line, so that what a call leaves out costs it nothing.
[[gnu::always_inline]] inline GemmRequest check_gemm(const Call& call, const GemmArguments& x) {
  call.known("trans_a", x.trans_a);
  call.known("trans_b", x.trans_b);
  call.not_negative("m", x.m);
  call.not_negative("n", x.n);
  call.not_negative("k", x.k);
  call.not_negative("stride_a", x.stride_a);
  call.not_negative("stride_b", x.stride_b);
  call.not_negative("stride_c", x.stride_c);
  call.not_negative("batch_count", x.batch_count);
  const bool bytes = is_byte(x.dtype);
  if (bytes) [[unlikely]] {
    check_bytes(call, x);
  } else if (x.dtype != DType::float64) {
    call.float_dtype(x.dtype);
  }
  if (!bytes && x.output_dtype != x.dtype &&
      !(x.dtype == DType::float16 && x.output_dtype == DType::float32)) {
    call.invalid(text("output_dtype is ", to_string(x.output_dtype), ", expected ",
                      to_string(x.dtype), " like dtype, or float32 for float16 inputs"));
  }

  const bool trans_a = x.trans_a != Transpose::none, trans_b = x.trans_b != Transpose::none;
  const auto span = [&](std::string_view name, bool transposed, Size rows, Size cols, Size ld) {
    if (transposed) std::swap(rows, cols);
    return span_of(call, name, rows, cols, ld, x.batch_count);
  };
  const Size one_a = span("a", trans_a, x.m, x.k, x.lda);
  const Size one_b = span("b", trans_b, x.k, x.n, x.ldb);
  const Size one_c = span("c", false, x.m, x.n, x.ldc);
  if (x.batch_count > 1 && one_c > 0 && x.stride_c < one_c) {
    call.invalid(text("stride_c is ", x.stride_c, ", expected at least ", one_c,
                      ", so that the matrices of c do not overlap"));
  }
  GemmRequest r{
      call.op(),
      trans_a,
      trans_b,
      x.m,
      x.n,
      x.k,
      static_cast<float>(x.alpha),
      call.buffer("a", x.a, span_of_batch(call, "a", one_a, x.stride_a, x.batch_count), x.dtype),
      x.lda,
      call.buffer("b", x.b, span_of_batch(call, "b", one_b, x.stride_b, x.batch_count), x.dtype),
      x.ldb,
      static_cast<float>(x.beta),
      call.buffer("c", x.c, span_of_batch(call, "c", one_c, x.stride_c, x.batch_count),
                  x.output_dtype),
      x.ldc,
      x.stride_a,
      x.stride_b,
      x.stride_c,
      x.batch_count,
      x.dtype,
      x.output_dtype,
      x.rounding};
  call.apart("c", r.c, "a", r.a);
  call.apart("c", r.c, "b", r.b);
  return r;
}

}  // namespace

void Backend::run_gemm(GemmRequest& r) {
  if (r.m == 0 || r.n == 0 || r.batch_count == 0) return;
  if (!r.a) [[unlikely]]
    stand_in(r.a);
  if (!r.b) [[unlikely]]
    stand_in(r.b);
  do_gemm(r);
}

void Backend::gemm(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k, double alpha,
                   Buffer a, Size lda, Buffer b, Size ldb, double beta, Buffer c, Size ldc,
                   DType dtype, std::optional<DType> output_dtype) {
  Call call(*state_, "gemm");
  GemmArguments x{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  x.dtype = dtype;
  x.output_dtype = output_dtype.value_or(is_byte(dtype) ? DType::int32 : dtype);
  GemmRequest request = check_gemm(call, x);
  call.checked();
  run_gemm(request);
}

void Backend::batched_gemm(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k,
                           double alpha, Buffer a, Size lda, Size stride_a, Buffer b, Size ldb,
                           Size stride_b, double beta, Buffer c, Size ldc, Size stride_c,
                           Size batch_count, DType dtype, std::optional<DType> output_dtype) {
  Call call(*state_, "batched_gemm");
  GemmArguments x{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  x.stride_a = stride_a;
  x.stride_b = stride_b;
  x.stride_c = stride_c;
  x.batch_count = batch_count;
  x.dtype = dtype;
  x.output_dtype = output_dtype.value_or(is_byte(dtype) ? DType::int32 : dtype);
  GemmRequest request = check_gemm(call, x);
  call.checked();
  run_gemm(request);
}

void Backend::gemm_f16(Transpose trans_a, Transpose trans_b, Size m, Size n, Size k, double alpha,
                       Buffer a, Size lda, Buffer b, Size ldb, double beta, Buffer c, Size ldc) {
  Call call(*state_, "gemm_f16");
  GemmArguments x{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  x.dtype = x.output_dtype = DType::float16;
  GemmRequest request = check_gemm(call, x);
  call.checked();
  run_gemm(request);
}

void Backend::gemm_mixed_precision(Precision precision, Transpose trans_a, Transpose trans_b,
                                   Size m, Size n, Size k, double alpha, Buffer a, Size lda,
                                   Buffer b, Size ldb, double beta, Buffer c, Size ldc) {
  Call call(*state_, "gemm_mixed_precision");
  call.known("precision", precision);
  GemmArguments x{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  x.rounding = precision;
  GemmRequest request = check_gemm(call, x);
  call.checked();
  run_gemm(request);
}

void Backend::matmul_vec(Buffer matrix, Size rows, Size cols, Buffer vector, Buffer out,
                         DType dtype) {
  Call call(*state_, "matmul_vec");
  call.not_negative("rows", rows);
  call.not_negative("cols", cols);
  call.float_dtype(dtype);
  MatmulVecRequest r;
  r.matrix = call.buffer("matrix", matrix, call.mul(rows, cols), dtype);
  r.vector = call.buffer("vector", vector, cols, dtype);
  r.out = call.buffer("out", out, rows, dtype);
  call.apart("out", r.out, "matrix", r.matrix);
  call.apart("out", r.out, "vector", r.vector);
  r.rows = rows;
  r.cols = cols;
  r.dtype = dtype;
  call.checked();
  if (rows == 0) return;
  stand_in(r.matrix);
  stand_in(r.vector);
  do_matmul_vec(r);
}

}  // namespace tilewright
