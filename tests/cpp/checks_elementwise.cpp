#include <doctest/doctest.h>

#include <array>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

using Sizes = std::vector<Size>;

TEST_CASE("unary: exactly n elements, in place if wanted") {
  RecordingBackend be;
  const Buffer x = be.floats(5), y = be.floats(5);
  be.unary(UnaryOp::exp, x, y, 5);
  CHECK(be.only<UnaryRequest>().op == UnaryOp::exp);
  CHECK(be.only<UnaryRequest>().n == 5);
  be.forget();
  be.unary(UnaryOp::exp, x, x, 10, DType::float16);
  CHECK(be.only<UnaryRequest>().input == be.only<UnaryRequest>().output);
  CHECK(be.only<UnaryRequest>().dtype == DType::float16);
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, x, y, 6),
                "unary: input holds 20 bytes, expected at least 24 (6 elements of float32)");
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, be.floats(6), y, 6), "unary: output holds 20 bytes");
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, x, y, -1), "unary: n is -1, expected 0 or more");
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, x, y, most), "more bytes than 64 bits can count");
  CHECK_REFUSED(be, be.unary(static_cast<UnaryOp>(99), x, y, 5), "unary: op is not a unary op");
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, x, y, 5, DType::int32), "unary: dtype is int32");
  CHECK_NOTHING_TO_DO(be, be.unary(UnaryOp::exp, x, y, 0));
  CHECK_NOTHING_TO_DO(be, be.unary(UnaryOp::exp, Buffer::null, Buffer::null, 0));
  CHECK_REFUSED(be, be.unary(UnaryOp::exp, x, Buffer::null, 1), "output is the null handle");
}

TEST_CASE("silu and gelu: unary under their own names") {
  RecordingBackend be;
  const Buffer x = be.floats(5);
  be.silu(x, x, 5);
  CHECK(be.only<UnaryRequest>().op == UnaryOp::silu);
  be.forget();
  be.gelu(x, x, 5);
  CHECK(be.only<UnaryRequest>().op == UnaryOp::gelu);
  CHECK_REFUSED(be, be.silu(x, x, 6), "silu: input holds 20 bytes");
  CHECK_REFUSED(be, be.gelu(x, x, 6), "gelu: input holds 20 bytes");
  CHECK_NOTHING_TO_DO(be, be.silu(x, x, 0));
  CHECK_NOTHING_TO_DO(be, be.gelu(x, x, 0));
}

TEST_CASE("binary: exactly n elements, output may be an input") {
  RecordingBackend be;
  const Buffer a = be.floats(5), b = be.floats(5), y = be.floats(5), small = be.floats(4);
  be.binary(BinaryOp::sub, a, b, a, 5);
  const auto& r = be.only<BinaryRequest>();
  CHECK(r.op == BinaryOp::sub);
  CHECK(r.n == 5);
  CHECK(r.rank == 1);
  CHECK(r.shape[0] == 5);
  CHECK(r.a_strides[0] == 1);
  CHECK(r.b_strides[0] == 1);
  CHECK(r.output == r.a);
  CHECK(r.output != r.b);
  CHECK_REFUSED(be, be.binary(BinaryOp::sub, small, b, y, 5), "binary: a holds 16 bytes");
  CHECK_REFUSED(be, be.binary(BinaryOp::sub, a, small, y, 5), "binary: b holds 16 bytes");
  CHECK_REFUSED(be, be.binary(BinaryOp::sub, a, b, small, 5), "binary: output holds 16 bytes");
  CHECK_REFUSED(be, be.binary(static_cast<BinaryOp>(7), a, b, y, 5), "op is not a binary op");
  CHECK_REFUSED(be, be.binary(BinaryOp::sub, a, b, y, -5), "n is -5, expected 0 or more");
  CHECK_NOTHING_TO_DO(be, be.binary(BinaryOp::sub, a, b, y, 0));
}

struct Broadcast {
  Sizes shape, a_strides, b_strides;
  void operator()(Backend& be, Buffer a, Buffer b, Buffer y) const {
    be.binary_broadcast(BinaryOp::add, a, a_strides, b, b_strides, y, shape);
  }
};

/// What the implementation is given: shape, strides of a, strides of b.
Broadcast merged(const Broadcast& x) {
  RecordingBackend be;
  const Buffer a = be.floats(1000), b = be.floats(1000), y = be.floats(1000);
  x(be, a, b, y);
  const auto& r = be.only<BinaryRequest>();
  const auto first = [&](const auto& values) {
    return Sizes(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(r.rank));
  };
  return {first(r.shape), first(r.a_strides), first(r.b_strides)};
}

#define CHECK_MERGED(given, ...)            \
  do {                                      \
    const Broadcast got = merged(given);    \
    const Broadcast want = __VA_ARGS__;     \
    CHECK(got.shape == want.shape);         \
    CHECK(got.a_strides == want.a_strides); \
    CHECK(got.b_strides == want.b_strides); \
  } while (false)

TEST_CASE("binary_broadcast: dimensions are merged as far as both inputs allow") {
  // All contiguous: one run.
  CHECK_MERGED((Broadcast{{2, 3, 4}, {12, 4, 1}, {12, 4, 1}}), {{24}, {1}, {1}});
  // A row against a matrix, and against a stack of them.
  CHECK_MERGED((Broadcast{{2, 3}, {3, 1}, {0, 1}}), {{2, 3}, {3, 1}, {0, 1}});
  CHECK_MERGED((Broadcast{{5, 2, 3}, {6, 3, 1}, {0, 0, 1}}), {{10, 3}, {3, 1}, {0, 1}});
  // A column: its rows repeat.
  CHECK_MERGED((Broadcast{{2, 3}, {3, 1}, {1, 0}}), {{2, 3}, {3, 1}, {1, 0}});
  // A scalar on both sides of the same dimensions.
  CHECK_MERGED((Broadcast{{2, 3, 4}, {0, 0, 0}, {12, 4, 1}}), {{24}, {0}, {1}});
  // Outer product: nothing to merge.
  CHECK_MERGED((Broadcast{{2, 3}, {1, 0}, {0, 1}}), {{2, 3}, {1, 0}, {0, 1}});
  // Size 1 goes, whatever its stride.
  CHECK_MERGED((Broadcast{{1, 4, 1}, {77, 1, 5}, {0, 1, 9}}), {{4}, {1}, {1}});
  // A transposed input stays apart.
  CHECK_MERGED((Broadcast{{2, 3}, {1, 2}, {3, 1}}), {{2, 3}, {1, 2}, {3, 1}});
  // A single element, and rank 0.
  CHECK_MERGED((Broadcast{{1, 1}, {0, 0}, {3, 3}}), {{1}, {1}, {1}});
  CHECK_MERGED((Broadcast{{}, {}, {}}), {{1}, {1}, {1}});
}

TEST_CASE("binary_broadcast: strides reach no further than the buffers") {
  RecordingBackend be;
  const Buffer a = be.floats(6), b = be.floats(3), y = be.floats(6);
  CHECK_NOTHROW((Broadcast{{2, 3}, {3, 1}, {0, 1}}(be, a, b, y)));
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {4, 1}, {0, 1}}(be, a, b, y)),
                "binary_broadcast: a holds 24 bytes, expected at least 28");
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {3, 1}, {1, 1}}(be, a, b, y)),
                "binary_broadcast: b holds 12 bytes, expected at least 16");
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {3, 1}, {0, 1}}(be, a, b, b)), "output holds 12 bytes");
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {3}, {0, 1}}(be, a, b, y)),
                "a_strides has 1 entries, expected 2, one for each dimension of shape");
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {3, 1}, {0, 1, 1}}(be, a, b, y)), "b_strides has 3 entries");
  CHECK_REFUSED(be, (Broadcast{{2, 3}, {3, 1}, {0, -1}}(be, a, b, y)),
                "b_strides[1] is -1, expected 0 or more");
  CHECK_REFUSED(be, (Broadcast{{2, -3}, {3, 1}, {0, 1}}(be, a, b, y)), "shape[1] is -3");
  CHECK_REFUSED(be, (Broadcast{Sizes(65, 1), Sizes(65, 1), Sizes(65, 1)}(be, a, b, y)),
                "shape has 65 dimensions, at most 64");
  CHECK_REFUSED(be, (Broadcast{{most, 4}, {0, 0}, {0, 0}}(be, a, b, y)),
                "more than 64 bits can count");
  CHECK_REFUSED(be, (Broadcast{{3, 3}, {most, 1}, {0, 1}}(be, a, b, y)),
                "more than 64 bits can count");
}

TEST_CASE("binary_broadcast: an empty shape is nothing to do") {
  RecordingBackend be;
  const Buffer a = be.floats(1), b = be.floats(1), y = be.floats(1);
  CHECK_NOTHING_TO_DO(be, (Broadcast{{0, 3}, {3, 1}, {0, 1}}(be, a, b, y)));
  CHECK_NOTHING_TO_DO(be, (Broadcast{{most, 0, most}, {1, 1, 1}, {0, 1, 0}}(be, a, b, y)));
  CHECK_REFUSED(be, (Broadcast{{0, 3}, {3, -1}, {0, 1}}(be, a, b, y)), "a_strides[1] is -1");
}

TEST_CASE("binary_broadcast: the output is an input only where it walks as the output does") {
  RecordingBackend be;
  const Buffer a = be.floats(9), b = be.floats(9);
  CHECK_NOTHROW((Broadcast{{3, 3}, {3, 1}, {0, 1}}(be, a, b, a)));
  CHECK_NOTHROW((Broadcast{{3, 3}, {1, 3}, {3, 1}}(be, a, b, b)));
  CHECK_NOTHROW((Broadcast{{1, 3}, {50, 1}, {0, 1}}(be, a, b, a)));
  CHECK_REFUSED(
      be, (Broadcast{{3, 3}, {1, 3}, {3, 1}}(be, a, b, a)),
      "output overlaps a: they are bytes 0 to 35 and 0 to 35 of one buffer; a_strides are not");
  CHECK_REFUSED(be, (Broadcast{{3, 3}, {3, 1}, {0, 1}}(be, a, b, b)),
                "b_strides are not those of the output");
}

TEST_CASE("softmax and reduce: the shape folds around the axis") {
  RecordingBackend be;
  const Buffer x = be.floats(120), y = be.floats(120);
  const Sizes shape{2, 3, 4, 5};
  const auto folded = [&](Size axis) {
    be.forget();
    be.softmax(x, y, shape, axis);
    const auto& r = be.only<SoftmaxRequest>();
    return std::array{r.outer, r.length, r.inner};
  };
  CHECK(folded(0) == std::array<Size, 3>{1, 2, 60});
  CHECK(folded(1) == std::array<Size, 3>{2, 3, 20});
  CHECK(folded(-1) == std::array<Size, 3>{24, 5, 1});
  be.forget();
  be.reduce(ReduceOp::mean, x, y, shape, -2);
  const auto& r = be.only<ReduceRequest>();
  CHECK(r.op == ReduceOp::mean);
  CHECK(r.outer == 6);
  CHECK(r.length == 4);
  CHECK(r.inner == 5);
}

TEST_CASE("softmax: checks") {
  RecordingBackend be;
  const Buffer x = be.floats(6), small = be.floats(5);
  const Sizes shape{2, 3};
  be.softmax(x, x, shape, 1);
  CHECK(be.only<SoftmaxRequest>().input == be.only<SoftmaxRequest>().output);
  CHECK(!be.only<SoftmaxRequest>().log);
  be.forget();
  be.softmax(x, x, shape, 1, DType::float32, true);
  CHECK(be.only<SoftmaxRequest>().log);
  CHECK_REFUSED(be, be.softmax(small, x, shape, 1), "softmax: input holds 20 bytes");
  CHECK_REFUSED(be, be.softmax(x, small, shape, 1), "softmax: output holds 20 bytes");
  CHECK_REFUSED(be, be.softmax(x, x, shape, 2), "axis is 2, expected -2 to 1");
  CHECK_REFUSED(be, be.softmax(x, x, {}, 0), "shape has no dimension");
  CHECK_REFUSED(be, be.softmax(x, x, shape, 0, DType::int32), "dtype is int32");
  CHECK_NOTHING_TO_DO(be, be.softmax(x, x, Sizes{0, 3}, 1));
  CHECK_NOTHING_TO_DO(be, be.softmax(x, x, Sizes{2, 0}, 1));
}

TEST_CASE("reduce: checks") {
  RecordingBackend be;
  const Buffer x = be.floats(6), y = be.floats(2), small = be.floats(1);
  const Sizes shape{2, 3};
  be.reduce(ReduceOp::sum, x, y, shape, 1);
  CHECK(be.requests.size() == 1);
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, y, x, shape, 1), "reduce: input holds 8 bytes");
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, x, small, shape, 1), "reduce: output holds 4 bytes");
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, x, y, shape, 0), "reduce: output holds 8 bytes");
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, x, x, shape, 1), "output overlaps input");
  CHECK_REFUSED(be, be.reduce(static_cast<ReduceOp>(4), x, y, shape, 1), "op is not a reduce op");
  CHECK_REFUSED(be, be.reduce(ReduceOp::sum, x, y, shape, -3), "axis is -3, expected -2 to 1");
}

TEST_CASE("reduce: an empty axis has a sum and a mean, but no max and no min") {
  RecordingBackend be;
  const Buffer x = be.floats(1), y = be.floats(2);
  const Sizes shape{2, 0};
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    be.forget();
    be.reduce(op, x, y, shape, 1);
    CHECK(be.only<ReduceRequest>().outer == 2);
    CHECK(be.only<ReduceRequest>().length == 0);
  }
  CHECK_REFUSED(be, be.reduce(ReduceOp::max, x, y, shape, 1), "the max of an empty axis");
  CHECK_REFUSED(be, be.reduce(ReduceOp::min, x, y, shape, 1), "the min of an empty axis");
  CHECK_NOTHING_TO_DO(be, be.reduce(ReduceOp::sum, x, y, shape, 0));
  CHECK_NOTHING_TO_DO(be, be.reduce(ReduceOp::max, x, y, shape, 0));
  CHECK_NOTHING_TO_DO(be, be.reduce(ReduceOp::sum, x, y, Sizes{0, 0}, 1));
}

TEST_CASE("cast: from any dtype to any other") {
  RecordingBackend be;
  const Buffer wide = be.alloc(20), narrow = be.alloc(10);
  be.cast(wide, DType::float32, narrow, DType::float16, 5);
  CHECK(be.only<CastRequest>().from == DType::float32);
  CHECK(be.only<CastRequest>().to == DType::float16);
  CHECK(be.only<CastRequest>().n == 5);
  CHECK_NOTHROW(be.cast(narrow, DType::float16, wide, DType::float32, 5));
  CHECK_REFUSED(be, be.cast(narrow, DType::float32, wide, DType::float16, 5),
                "cast: input holds 10 bytes, expected at least 20");
  CHECK_REFUSED(be, be.cast(wide, DType::float32, narrow, DType::float16, 6), "input holds 20");
  CHECK_REFUSED(be, be.cast(wide, DType::float16, narrow, DType::float32, 5), "output holds 10");
  CHECK_REFUSED(be, be.cast(wide, DType::float32, wide, DType::float16, 5),
                "output overlaps input");
  CHECK_NOTHROW(be.cast(wide, DType::int32, narrow, DType::float16, 5));
  be.forget();
  be.cast(narrow, DType::float16, wide, DType::int32, 5);
  CHECK(be.only<MapRequest>().n == 5);
  CHECK_REFUSED(be, be.cast(wide, static_cast<DType>(99), narrow, DType::int8, 5), "from is not");
  CHECK_REFUSED(be, be.cast(wide, DType::int32, narrow, static_cast<DType>(99), 5), "to is not");
  CHECK_REFUSED(be, be.cast(wide, DType::float32, narrow, DType::float16, -1), "n is -1");
  CHECK_NOTHING_TO_DO(be, be.cast(wide, DType::float32, narrow, DType::float16, 0));
}

}  // namespace
}  // namespace tilewright
