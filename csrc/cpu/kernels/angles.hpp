#pragma once

#include "cpu/kernels/math.hpp"
#include "cpu/kernels/wide_math.hpp"

/// Angles of float32. The largest errors, in units of the last place, against 80 bits over every
/// 1031st float32 and 8 million pairs, on any instruction set: sin, cos, atan and atan2 1.6.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// What is off the nearest quarter of a turn, found in float64, and the quarters.
struct ReducedAngle {
  Floats rest;
  Ints quarters;
};
struct WideRest {
  Doubles rest, quarters;
};
static inline WideRest off_quarters(Doubles x) {
  const Doubles k = whole_part(x * 0x1.45f306dc9c883p-1);
  return {(x - k * 0x1.921fb544p0) - k * 0x1.0b4611a626331p-34, k};
}
static inline ReducedAngle reduced_angle(Floats x) {
  const WideRest low = off_quarters(widen_low(x)), high = off_quarters(widen_high(x));
  return {narrow(low.rest, high.rest), to_ints(narrow(low.quarters, high.quarters))};
}
static inline Floats sine_of_quarters(const ReducedAngle& a, std::int32_t more) {
  const Floats r = a.rest, z = r * r;
  const Floats sine =
      r + r * z * polynomial(z, z * z, -0x1.555546p-3f, 0x1.11076p-7f, -0x1.994e88p-13f);
  const Floats cosine =
      (1 - 0.5f * z) +
      z * z * polynomial(z, z * z, 0x1.55554ap-5f, -0x1.6c0c8cp-10f, 0x1.9a0232p-16f);
  const Ints quarters = a.quarters + more;
  const Floats size = (quarters & 1) != 0 ? cosine : sine;
  return (Floats)((Ints)size ^ (quarters << 30 & INT32_MIN));
}
template <class Function>
static inline Floats with_large_angles(Floats x, Floats result, Function function) {
  const Ints ordinary = abs(x) <= splat(static_cast<float>(largest_angle));
  if (any(~ordinary)) {
    for (std::size_t i = 0; i < lanes; ++i) {
      if (ordinary[i] == 0) result[i] = static_cast<float>(function(x[i]));
    }
  }
  return result;
}
static inline Floats sin(Floats x) {
  const Floats result = sine_of_quarters(reduced_angle(x), 0);
  return with_large_angles(x, x == 0 ? x : result, [](double one) { return __builtin_sin(one); });
}
static inline Floats cos(Floats x) {
  return with_large_angles(x, sine_of_quarters(reduced_angle(x), 1),
                           [](double one) { return __builtin_cos(one); });
}

constexpr float float_half_pi = 0x1.921fb6p0f, float_half_pi_low = -0x1.777a5cp-25f;

/// atan t for t from 0 to 1.
static inline Floats atan_of_eighth(Floats t) {
  const Floats z = t * t;
  return t + t * z *
                 polynomial(z, z * z, -0x1.55553ep-2f, 0x1.9991fep-3f, -0x1.2421b6p-3f,
                            0x1.c099fep-4f, -0x1.58348ep-4f, 0x1.dac9dcp-5f, -0x1.fed15p-6f,
                            0x1.65a64cp-7f, -0x1.d62fd2p-10f);
}
static inline Floats atan(Floats x) {
  const Floats a = abs(x);
  const Ints steep = a > 1;
  const Floats eighth = atan_of_eighth(steep ? 1 / a : a);
  return copy_sign(steep ? (float_half_pi - eighth) + float_half_pi_low : eighth, x);
}
static inline Floats atan2(Floats y, Floats x) {
  const Floats a = abs(y), b = abs(x);
  const Ints steep = a > b;
  const Floats above = steep ? b : a, below = steep ? a : b;
  Floats q = above / below;
  q = below == 0 ? Floats{} : q;
  q = above == infinity ? splat(1) : q;
  const Floats eighth = atan_of_eighth(q);
  const Floats quarter = steep ? (float_half_pi - eighth) + float_half_pi_low : eighth;
  const Floats half = (Ints)x < 0 ? (2 * float_half_pi - quarter) + 2 * float_half_pi_low : quarter;
  return (y != y) | (x != x) ? y + x : copy_sign(half, y);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
