#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/program/rules.hpp"
#include "core/small_floats.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"
#include "tilewright/program.hpp"

namespace tilewright {

namespace {

std::uint64_t float_bits(double value, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return half_bits(value);
    case DType::bfloat16:
      return bfloat16_bits(value);
    case DType::float32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<std::uint64_t>(value);
  }
}

bool is_signed(DType dtype) {
  return class_of(dtype) == ComputeClass::i32 || class_of(dtype) == ComputeClass::i64;
}

}  // namespace

Number::Number(double value) : kind_(Kind::real), bits_(std::bit_cast<std::uint64_t>(value)) {}

std::string Number::shown() const {
  switch (kind_) {
    case Kind::boolean:
      return bits_ != 0 ? "true" : "false";
    case Kind::integer:
      return text(static_cast<std::int64_t>(bits_));
    case Kind::natural:
      return text(bits_);
    case Kind::real:
      return text(std::bit_cast<double>(bits_));
  }
  return "";
}

std::uint64_t Number::bits(DType dtype, std::string_view what) const {
  const ComputeClass kind = class_of(dtype);
  const double real = kind_ == Kind::real ? std::bit_cast<double>(bits_)
                      : kind_ == Kind::integer
                          ? static_cast<double>(static_cast<std::int64_t>(bits_))
                          : static_cast<double>(bits_);
  if (kind == ComputeClass::f32 || kind == ComputeClass::f64) return float_bits(real, dtype);
  const auto refuse = [&](std::string_view expected) {
    throw InvalidArgument(text(what, " is ", shown(), ", expected ", expected));
  };
  if (kind == ComputeClass::boolean) {
    if (real != 0 && real != 1) refuse("a bool");
    return real != 0 ? 1 : 0;
  }
  if (kind_ == Kind::real && std::trunc(real) != real)
    refuse(text("an integer, as ", to_string(dtype)));
  const auto width = static_cast<int>(8 * size_of(dtype));
  const int digits = is_signed(dtype) ? width - 1 : width;
  const double end = std::ldexp(1.0, digits);
  const bool negative = kind_ == Kind::integer ? static_cast<std::int64_t>(bits_) < 0 : real < 0;
  bool fits = negative ? is_signed(dtype) && real >= -end : real < end;
  // What a double does not tell apart.
  if (kind_ == Kind::natural && digits == 63) fits = bits_ >> 63 == 0;
  if (kind_ == Kind::natural && digits == 64) fits = true;
  if (kind_ == Kind::integer && digits >= 63) fits = !negative || is_signed(dtype);
  if (!fits) refuse(text("what ", to_string(dtype), " holds"));
  std::uint64_t whole = bits_;
  if (kind_ == Kind::real) {
    whole = negative ? static_cast<std::uint64_t>(static_cast<std::int64_t>(real))
                     : static_cast<std::uint64_t>(real);
  }
  return width == 64 ? whole : whole & ((std::uint64_t{1} << width) - 1);
}

}  // namespace tilewright
