#include <doctest/doctest.h>

#include <cmath>

#include "core/call.hpp"
#include "recording_backend.hpp"

namespace tilewright {
namespace {

struct OpenCall {
  OpenCall() { state.initialized = true; }
  RecordingBackend backend;
  BackendState state{backend};
};

TEST_CASE("sizes: arithmetic is exact or refused") {
  OpenCall open;
  const Call call(open.state, "op");
  CHECK(call.mul(0, most) == 0);
  CHECK(call.mul(most, 0) == 0);
  CHECK(call.mul(most, 1) == most);
  CHECK(call.mul(Size{1} << 31, Size{1} << 31) == Size{1} << 62);
  CHECK_THROWS_WITH_AS(call.mul(Size{1} << 32, Size{1} << 31),
                       "op: the sizes 4294967296 and 2147483648 multiply to more than 64 bits can "
                       "count",
                       InvalidArgument);
  CHECK_THROWS_AS(call.mul(most, 2), InvalidArgument);
  CHECK(call.add(most, 0) == most);
  CHECK(call.add(most - 1, 1) == most);
  CHECK_THROWS_WITH_AS(call.add(most, 1),
                       "op: the sizes 9223372036854775807 and 1 add up to more than 64 bits can "
                       "count",
                       InvalidArgument);
}

TEST_CASE("sizes: a product with a zero is zero, however large the rest") {
  OpenCall open;
  const Call call(open.state, "op");
  CHECK(call.product({}) == 1);
  CHECK(call.product({3, 5, 7}) == 105);
  CHECK(call.product({most, most, 0}) == 0);
  CHECK(call.product({0, most, most}) == 0);
  CHECK_THROWS_AS(call.product({most, most, 1}), InvalidArgument);
}

TEST_CASE("sizes: shapes and axes") {
  OpenCall open;
  const Call call(open.state, "op");
  std::array<Size, max_rank + 1> many;
  many.fill(1);
  CHECK_NOTHROW(call.shape("shape", std::span(many).first(max_rank)));
  CHECK_THROWS_WITH_AS(call.shape("shape", many),
                       "op: shape has 65 dimensions, at most 64 are supported", InvalidArgument);
  const std::array<Size, 3> shape{2, -3, 4};
  CHECK_THROWS_WITH_AS(call.shape("shape", shape), "op: shape[1] is -3, expected 0 or more",
                       InvalidArgument);
  CHECK(call.axis(0, shape) == 0);
  CHECK(call.axis(2, shape) == 2);
  CHECK(call.axis(-1, shape) == 2);
  CHECK(call.axis(-3, shape) == 0);
  for (Size wrong : {Size{3}, Size{-4}, most, -most - 1}) {
    CHECK_THROWS_WITH_AS(call.axis(wrong, shape),
                         doctest::Contains("expected -3 to 2 for a shape of 3 dimensions"),
                         InvalidArgument);
  }
  CHECK_THROWS_WITH_AS(call.axis(0, {}), "op: shape has no dimension, expected at least one",
                       InvalidArgument);
}

TEST_CASE("sizes: what is asked of single numbers") {
  OpenCall open;
  const Call call(open.state, "op");
  CHECK_NOTHROW(call.not_negative("n", 0));
  CHECK_THROWS_WITH_AS(call.not_negative("n", -1), "op: n is -1, expected 0 or more",
                       InvalidArgument);
  CHECK_NOTHROW(call.positive("n", 1));
  CHECK_THROWS_WITH_AS(call.positive("n", 0), "op: n is 0, expected 1 or more", InvalidArgument);
  CHECK_NOTHROW(call.positive_finite("scale", 1e-300));
  for (double wrong : {0.0, -1.0, HUGE_VAL, -HUGE_VAL, double{NAN}}) {
    CHECK_THROWS_WITH_AS(call.positive_finite("scale", wrong),
                         doctest::Contains("expected a finite number above 0"), InvalidArgument);
  }
  CHECK_NOTHROW(call.float_dtype(DType::float16));
  CHECK_THROWS_WITH_AS(call.float_dtype(DType::int32),
                       "op: dtype is int32, expected float32 or float16", InvalidArgument);
  CHECK_THROWS_WITH_AS(call.known("op", static_cast<UnaryOp>(200)), "op: op is not a unary op",
                       InvalidArgument);
}

TEST_CASE("sizes: a call that throws lets the next one in") {
  OpenCall open;
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(Call(open.state, "op").positive("n", 0), InvalidArgument);
  }
  open.state.wait_until_empty();
  CHECK(open.state.mutex.try_lock());
  open.state.mutex.unlock();
}

}  // namespace
}  // namespace tilewright
