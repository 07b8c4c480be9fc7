#include <doctest/doctest.h>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

constexpr auto none = Transpose::none;
constexpr auto transposed = Transpose::transpose;

/// A gemm that is right, for tests to spoil one argument of.
struct Gemm {
  Transpose trans_a = none, trans_b = none;
  Size m = 2, n = 3, k = 4;
  double alpha = 1;
  Size lda = 4, ldb = 3;
  double beta = 0;
  Size ldc = 3;
  DType dtype = DType::float32;
  std::optional<DType> output_dtype = std::nullopt;

  void operator()(Backend& be, Buffer a, Buffer b, Buffer c) const {
    be.gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, dtype, output_dtype);
  }
};

TEST_CASE("gemm: the request is what was asked for") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6);
  Gemm{.alpha = 2, .beta = 0.5}(be, a, b, c);
  const auto& r = be.only<GemmRequest>();
  CHECK(r.op == "gemm");
  CHECK_FALSE(r.trans_a);
  CHECK_FALSE(r.trans_b);
  CHECK(r.m == 2);
  CHECK(r.n == 3);
  CHECK(r.k == 4);
  CHECK(r.alpha == 2.0f);
  CHECK(r.beta == 0.5f);
  CHECK(r.lda == 4);
  CHECK(r.ldb == 3);
  CHECK(r.ldc == 3);
  CHECK(r.a.bytes == 32);
  CHECK(r.b.bytes == 48);
  CHECK(r.c.bytes == 24);
  CHECK(r.batch_count == 1);
  CHECK(r.output_dtype == DType::float32);
  CHECK_FALSE(r.rounding.has_value());
}

TEST_CASE("gemm: leading dimensions are held against the matrices as stored") {
  RecordingBackend be;
  const Buffer a = be.floats(100), b = be.floats(100), c = be.floats(100);
  CHECK_REFUSED(be, (Gemm{.lda = 3}(be, a, b, c)),
                "gemm: lda is 3, expected at least 4, the row length of a as stored");
  CHECK_REFUSED(be, (Gemm{.ldb = 2}(be, a, b, c)), "ldb is 2, expected at least 3");
  CHECK_REFUSED(be, (Gemm{.ldc = 2}(be, a, b, c)), "ldc is 2, expected at least 3");
  CHECK_REFUSED(be, (Gemm{.lda = -1}(be, a, b, c)), "lda is -1, expected at least 4");
  // Transposed, a is stored k x m and b n x k.
  CHECK_NOTHROW((Gemm{.trans_a = transposed, .lda = 2}(be, a, b, c)));
  CHECK_REFUSED(be, (Gemm{.trans_a = transposed, .lda = 1}(be, a, b, c)),
                "lda is 1, expected at least 2");
  CHECK_NOTHROW((Gemm{.trans_b = Transpose::conj_transpose, .ldb = 4}(be, a, b, c)));
  CHECK_REFUSED(be, (Gemm{.trans_b = transposed, .ldb = 3}(be, a, b, c)),
                "ldb is 3, expected at least 4");
  CHECK_REFUSED(be, (Gemm{.k = 0, .lda = -1}(be, a, b, c)), "lda is -1, expected at least 1");
}

TEST_CASE("gemm: the last row may end with its last element") {
  RecordingBackend be;
  // Rows of 4 at a leading dimension of 10: 14 elements, not 20.
  const Buffer a = be.floats(14), short_a = be.floats(13), b = be.floats(12), c = be.floats(6);
  CHECK_NOTHROW((Gemm{.lda = 10}(be, a, b, c)));
  CHECK_REFUSED(be, (Gemm{.lda = 10}(be, short_a, b, c)),
                "a holds 52 bytes, expected at least 56 (14 elements of float32)");
}

TEST_CASE("gemm: buffers are large enough, live and apart") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6), small = be.floats(5);
  CHECK_REFUSED(be, Gemm{}(be, small, b, c), "gemm: a holds 20 bytes, expected at least 32");
  CHECK_REFUSED(be, Gemm{}(be, a, small, c), "gemm: b holds 20 bytes, expected at least 48");
  CHECK_REFUSED(be, Gemm{}(be, a, b, small), "gemm: c holds 20 bytes, expected at least 24");
  CHECK_REFUSED(be, Gemm{}(be, Buffer::null, b, c), "gemm: a is the null handle");
  const Buffer big = be.floats(12);
  CHECK_REFUSED(be, Gemm{}(be, big, b, big), "gemm: c overlaps a");
  CHECK_REFUSED(be, Gemm{}(be, a, big, big), "gemm: c overlaps b");
  be.forget();
  CHECK_NOTHROW(Gemm{}(be, big, big, c));
  CHECK(be.requests.size() == 1);
}

TEST_CASE("gemm: sizes and enums") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6);
  CHECK_REFUSED(be, (Gemm{.m = -1}(be, a, b, c)), "gemm: m is -1, expected 0 or more");
  CHECK_REFUSED(be, (Gemm{.n = -1}(be, a, b, c)), "gemm: n is -1, expected 0 or more");
  CHECK_REFUSED(be, (Gemm{.k = -1}(be, a, b, c)), "gemm: k is -1, expected 0 or more");
  CHECK_REFUSED(be, (Gemm{.trans_a = static_cast<Transpose>(9)}(be, a, b, c)),
                "gemm: trans_a is not a transpose");
  CHECK_REFUSED(be, (Gemm{.trans_b = static_cast<Transpose>(9)}(be, a, b, c)),
                "gemm: trans_b is not a transpose");
  CHECK_REFUSED(be, (Gemm{.m = most, .lda = most}(be, a, b, c)), "more than 64 bits can count");
}

TEST_CASE("gemm: dtypes that go together") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6), half_c = be.alloc(12);
  const auto with = [&](DType in, std::optional<DType> out, Buffer to) {
    Gemm{.dtype = in, .output_dtype = out}(be, a, b, to);
  };
  CHECK_NOTHROW(with(DType::float16, std::nullopt, half_c));
  CHECK_NOTHROW(with(DType::float16, DType::float32, c));
  CHECK_REFUSED(be, with(DType::float16, DType::float32, half_c),
                "c holds 12 bytes, expected at least 24 (6 elements of float32)");
  CHECK_REFUSED(be, with(DType::float32, DType::float16, c), "output_dtype is float16, expected");
  CHECK_REFUSED(be, with(DType::int32, std::nullopt, c), "dtype is int32");
  CHECK_REFUSED(be, with(DType::float16, DType::int32, c), "output_dtype is int32");
}

TEST_CASE("gemm: empty results are nothing to do, an empty k is") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6);
  CHECK_NOTHING_TO_DO(be, (Gemm{.m = 0}(be, a, b, c)));
  CHECK_NOTHING_TO_DO(be, (Gemm{.n = 0}(be, a, b, c)));
  be.forget();
  Gemm{.k = 0}(be, a, b, c);
  CHECK(be.only<GemmRequest>().k == 0);
}

TEST_CASE("gemm: a matrix without elements may be null, with a leading dimension of 0") {
  RecordingBackend be;
  constexpr Buffer null = Buffer::null;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6);
  CHECK_NOTHING_TO_DO(be, (Gemm{.m = 0, .lda = 0, .ldc = 0}(be, null, b, null)));
  CHECK_NOTHING_TO_DO(be, (Gemm{.n = 0, .ldb = 0, .ldc = 0}(be, a, null, null)));
  CHECK_NOTHING_TO_DO(
      be, (Gemm{.m = 0, .n = 0, .k = 0, .lda = 0, .ldb = 0, .ldc = 0}(be, null, null, null)));
  CHECK_REFUSED(be, (Gemm{.m = 0}(be, a, null, c)), "b is the null handle");
  CHECK_REFUSED(be, (Gemm{.m = 0, .ldb = 0}(be, a, b, c)), "ldb is 0, expected at least 3");
  CHECK_REFUSED(be, (Gemm{.m = 0, .lda = 1}(be, a, b, c)), "lda is 1, expected at least 4");
  CHECK_REFUSED(be, (Gemm{.k = 0}(be, null, null, null)), "c is the null handle");
  CHECK_REFUSED(be, (Gemm{.k = 0}(be, static_cast<Buffer>(5), null, c)), "a is 5");
  be.forget();
  Gemm{.k = 0, .lda = 0, .ldb = 0}(be, null, null, c);
  // What is bound although nothing of it is read.
  CHECK(be.only<GemmRequest>().a != nullptr);
  CHECK(be.only<GemmRequest>().b != nullptr);
}

TEST_CASE("batched_gemm: strides, sharing and batches") {
  RecordingBackend be;
  const Buffer a = be.floats(8 * 3), b = be.floats(12), c = be.floats(6 * 3);
  const auto batched = [&](Size stride_a, Size stride_b, Size stride_c, Size count) {
    be.batched_gemm(none, none, 2, 3, 4, 1, a, 4, stride_a, b, 3, stride_b, 0, c, 3, stride_c,
                    count);
  };
  batched(8, 0, 6, 3);
  const auto& r = be.only<GemmRequest>();
  CHECK(r.op == "batched_gemm");
  CHECK(r.stride_a == 8);
  CHECK(r.stride_b == 0);
  CHECK(r.stride_c == 6);
  CHECK(r.batch_count == 3);
  CHECK_REFUSED(be, batched(8, 12, 6, 3), "batched_gemm: b holds 48 bytes, expected at least 144");
  CHECK_REFUSED(be, batched(9, 0, 6, 3), "batched_gemm: a holds 96 bytes, expected at least 104");
  CHECK_REFUSED(be, batched(8, 0, 7, 3), "c holds 72 bytes, expected at least 80");
  CHECK_REFUSED(be, batched(8, 0, 5, 3),
                "stride_c is 5, expected at least 6, so that the matrices of c do not overlap");
  CHECK_REFUSED(be, batched(-1, 0, 6, 3), "stride_a is -1, expected 0 or more");
  CHECK_REFUSED(be, batched(8, -1, 6, 3), "stride_b is -1, expected 0 or more");
  CHECK_REFUSED(be, batched(8, 0, -1, 3), "stride_c is -1, expected 0 or more");
  CHECK_REFUSED(be, batched(8, 0, 6, -1), "batch_count is -1, expected 0 or more");
  CHECK_REFUSED(be, batched(most, 0, 6, 3), "more than 64 bits can count");
  CHECK_NOTHING_TO_DO(be, batched(8, 0, 6, 0));
  be.forget();
  CHECK_NOTHROW(batched(8, 0, 0, 1));
  CHECK(be.only<GemmRequest>().batch_count == 1);
}

TEST_CASE("gemm_f16: float16 buffers, nothing rounded") {
  RecordingBackend be;
  const Buffer a = be.alloc(16), b = be.alloc(24), c = be.alloc(12), small = be.alloc(11);
  be.gemm_f16(none, none, 2, 3, 4, 1, a, 4, b, 3, 0, c, 3);
  const auto& r = be.only<GemmRequest>();
  CHECK(r.op == "gemm_f16");
  CHECK_FALSE(r.rounding);
  CHECK(r.dtype == DType::float16);
  CHECK(r.output_dtype == DType::float16);
  CHECK_REFUSED(be, be.gemm_f16(none, none, 2, 3, 4, 1, a, 4, b, 3, 0, small, 3),
                "gemm_f16: c holds 11 bytes, expected at least 12 (6 elements of float16)");
}

TEST_CASE("gemm_mixed_precision: rounded inputs in float32 buffers") {
  RecordingBackend be;
  const Buffer a = be.floats(8), b = be.floats(12), c = be.floats(6);
  const auto mixed = [&](Precision precision) {
    be.gemm_mixed_precision(precision, none, none, 2, 3, 4, 1, a, 4, b, 3, 0, c, 3);
  };
  mixed(Precision::bfloat16);
  CHECK(be.only<GemmRequest>().op == "gemm_mixed_precision");
  CHECK(be.only<GemmRequest>().rounding == Precision::bfloat16);
  CHECK_REFUSED(be, mixed(static_cast<Precision>(7)), "precision is not a precision");
}

TEST_CASE("matmul_vec: sizes and buffers") {
  RecordingBackend be;
  const Buffer matrix = be.floats(12), vector = be.floats(4), out = be.floats(3);
  be.matmul_vec(matrix, 3, 4, vector, out);
  const auto& r = be.only<MatmulVecRequest>();
  CHECK(r.rows == 3);
  CHECK(r.cols == 4);
  CHECK(r.matrix.bytes == 48);
  CHECK(r.vector.bytes == 16);
  CHECK(r.out.bytes == 12);
  CHECK_REFUSED(be, be.matmul_vec(matrix, -1, 4, vector, out), "rows is -1, expected 0 or more");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 3, -4, vector, out), "cols is -4, expected 0 or more");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 4, 4, vector, out), "matrix holds 48 bytes");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 2, 5, vector, out), "vector holds 16 bytes");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 4, 3, vector, out), "out holds 12 bytes");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 3, 4, vector, matrix), "out overlaps matrix");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 3, 4, vector, vector), "out overlaps vector");
  CHECK_REFUSED(be, be.matmul_vec(matrix, 3, 4, vector, out, DType::int32), "dtype is int32");
  CHECK_NOTHING_TO_DO(be, be.matmul_vec(matrix, 0, 4, vector, out));
  be.forget();
  be.matmul_vec(matrix, 3, 0, vector, out);
  CHECK(be.only<MatmulVecRequest>().cols == 0);
}

}  // namespace
}  // namespace tilewright
