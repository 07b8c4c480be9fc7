#include "tilewright/types.hpp"

#include <doctest/doctest.h>

#include "tilewright/device.hpp"

namespace tilewright {
namespace {

template <class Enum>
void round_trip(std::size_t count) {
  CHECK(EnumNames<Enum>::values.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    CHECK(from_string<Enum>(to_string(value)) == value);
  }
  CHECK(to_string(static_cast<Enum>(count)) == "?");
  CHECK_FALSE(from_string<Enum>("?").has_value());
  CHECK_FALSE(from_string<Enum>("").has_value());
}

TEST_CASE("enums: every value has a name that leads back to it") {
  round_trip<DType>(13);
  round_trip<Transpose>(3);
  round_trip<Precision>(3);
  round_trip<RopePairing>(2);
  round_trip<UnaryOp>(static_cast<std::size_t>(UnaryOp::square) + 1);
  round_trip<BinaryOp>(static_cast<std::size_t>(BinaryOp::pow) + 1);
  round_trip<ReduceOp>(static_cast<std::size_t>(ReduceOp::mean) + 1);
  round_trip<Reduction>(static_cast<std::size_t>(Reduction::moments) + 1);
  round_trip<ScanOp>(static_cast<std::size_t>(ScanOp::min) + 1);
  round_trip<PoolOp>(static_cast<std::size_t>(PoolOp::mean_padded) + 1);
  round_trip<DeviceKind>(4);
  CHECK(to_string(UnaryOp::gelu_tanh) == "gelu_tanh");
  CHECK(to_string(BinaryOp::pow) == "pow");
  CHECK(to_string(Transpose::conj_transpose) == "conj_transpose");
  CHECK(from_string<DType>("float16") == DType::float16);
}

TEST_CASE("dtypes: their sizes") {
  CHECK(size_of(DType::float32) == 4);
  CHECK(size_of(DType::float16) == 2);
  CHECK(size_of(DType::int32) == 4);
  CHECK(size_of(DType::boolean) == 1);
  CHECK(size_of(DType::bfloat16) == 2);
  CHECK(size_of(DType::int64) == 8);
}

}  // namespace
}  // namespace tilewright
