#pragma once

#include <cstdint>

namespace tilewright {

/// The nearest float16 and bfloat16, ties to even.
std::uint32_t half_bits(double value) noexcept;
std::uint32_t bfloat16_bits(double value) noexcept;
/// The value of a float16, whose bits are the lowest 16.
float float_of_half(std::uint32_t bits) noexcept;

}  // namespace tilewright
