#include "core/small_floats.hpp"

#include <bit>
#include <cmath>

namespace tilewright {

namespace {

/// A float of 16 bits with that many digits after the first, the other bits for the exponent.
std::uint32_t small_float(double value, int digits) noexcept {
  const int bias = (1 << (14 - digits)) - 1;
  const std::uint32_t infinity = std::uint32_t{0x7fff} >> digits << digits;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | infinity | (std::uint32_t{1} << (digits - 1));
  if (size >= std::ldexp(1.0, bias + 1)) return sign | infinity;
  // A carry out of the digits goes into the exponent, as it should.
  if (size < std::ldexp(1.0, 1 - bias)) {
    return sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, bias - 1 + digits)));
  }
  const int exponent = std::ilogb(size);
  const auto rounded =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, digits - exponent)));
  return sign | ((static_cast<std::uint32_t>(exponent + bias - 1) << digits) + rounded);
}

}  // namespace

std::uint32_t half_bits(double value) noexcept { return small_float(value, 10); }
std::uint32_t bfloat16_bits(double value) noexcept { return small_float(value, 7); }

float float_of_half(std::uint32_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000) << 16;
  const std::uint32_t size = bits & 0x7fff;
  if (size >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (size & 0x3ff) << 13);
  // The exponent of float32 is 112 more; what lies below float16's smallest normal number comes
  // right with it.
  return std::bit_cast<float>(
      sign | std::bit_cast<std::uint32_t>(std::ldexp(std::bit_cast<float>(size << 13), 112)));
}

}  // namespace tilewright
