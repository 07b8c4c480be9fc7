#pragma once

#include "cpu/kernels/simd.hpp"

/// Elementary functions on vectors. NaN and infinity as in C; results too small for a normal number
/// are right, too.
///
/// The largest errors, in units of the last place, against float64 over all of float32 (every
/// 1031st; pow: 8 million pairs), on any instruction set: exp 0.98, expm1 1.6, log 0.76, log1p
/// 0.81, tanh 2.5, sigmoid 2.1, silu 2.7, pow 1.4; gelu 5.2 above -1, 11 above -3, 33 above -6 and
/// 120 far below 0, gelu_tanh 2.8 above -1 and 180 far below 0, where their results are next to
/// nothing.
namespace tilewright::cpu::TILEWRIGHT_ISA {

constexpr float infinity = __builtin_inff();

// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
constexpr float ln2_high = 0x1.62e4p-1f;
constexpr float ln2_low = 0x1.7f7d1cp-20f;

/// c[0] + c[1] x + c[2] x^2 ..., in pairs: the chain of dependent steps is half as long.
template <class Vector, class Number>
static inline Vector polynomial(Vector, Vector, Number last) {
  return Vector{} + last;
}
template <class Vector, class Number>
static inline Vector polynomial(Vector x, Vector, Number c, Number last) {
  return c + x * last;
}
template <class Vector, class Number, class... More>
static inline Vector polynomial(Vector x, Vector x2, Number c, Number d, Number e, More... more) {
  return (c + x * d) + x2 * polynomial(x, x2, e, more...);
}

/// fraction * 2^exponent, the exponent whole.
struct Scaled {
  Floats fraction, exponent;
};

constexpr float to_whole = 0x1.8p23f;  // added and taken away: rounds to nearest

/// e^x - 1 before scaling: the fraction is that of e^x less 1. For |x| up to 170.
static inline Scaled exp_less_one_parts(Floats x) {
  const Floats exponent = (x * 0x1.715476p0f + to_whole) - to_whole;
  const Floats r = (x - exponent * ln2_high) - exponent * ln2_low;
  const Floats r2 = r * r;
  const Floats p =
      polynomial(r, r2, 0.49999994f, 0.16666521f, 0.041668274f, 0.008368685f, 0.001382011f);
  return {r + r2 * p, exponent};
}

/// e^x, for |x| up to 170.
static inline Scaled exp_parts(Floats x) {
  const Scaled less_one = exp_less_one_parts(x);
  return {less_one.fraction + 1, less_one.exponent};
}

/// 2^f for |f| up to 1/2, to 1e-7 of it.
static inline Floats exp2_fraction(Floats f) {
  return polynomial(f, f * f, 1.0f, 0.693147f, 0.24022242f, 0.055507336f, 0.009671513f,
                    0.0013264726f);
}

/// At most that of x, and NaN where x is.
static inline Floats at_most(Floats x, float limit) { return x > limit ? splat(limit) : x; }
static inline Floats at_least(Floats x, float limit) { return x < limit ? splat(limit) : x; }

static inline Floats exp(Floats x) {
  const Scaled e = exp_parts(at_least(at_most(x, 90), -110));
  return scale(e.fraction, e.exponent);
}

static inline Floats exp_less_one(Floats x) {
  const Scaled e = exp_less_one_parts(at_least(at_most(x, 89), -40));
  const Floats half = (Floats)((to_ints(e.exponent) + 126) << 23);
  const Floats result = 2 * (e.fraction * half + (half - 0.5f));
  return abs(x) < 0x1p-25f ? x : result;
}

/// Positive normal numbers in two: the fraction lies between the roots of 1/2 and 2.
static inline Scaled split_normal(Floats x) {
  constexpr std::int32_t sqrt_half = 0x3f3504f3;
  const Ints exponent = ((Ints)x - sqrt_half) >> 23;
  return {(Floats)((Ints)x - (exponent << 23)), to_floats(exponent)};
}

/// The same for all positive finite numbers.
static inline Scaled split(Floats x) {
  const Ints tiny = x < 0x1p-126f;
  const Scaled parts = split_normal(tiny ? x * 0x1p23f : x);
  return {parts.fraction, tiny ? parts.exponent - 23 : parts.exponent};
}

/// log(1 + f) - f for f from less than the root of 1/2 to that of 2, and `rest`, which is small.
static inline Floats log_off(Floats f, Floats rest) {
  const Floats f2 = f * f;
  const Floats p = polynomial(f, f2, 0.33333313f, -0.2500001f, 0.20002072f, -0.16667989f,
                              0.1422036f, -0.1240624f, 0.118835375f, -0.11670025f, 0.0674919f);
  return f * f2 * p + rest - f2 * 0.5f;
}

static inline Floats log(Floats x) {
  const Scaled parts = split(x);
  const Floats f = parts.fraction - 1, e = parts.exponent;
  Floats result = e * ln2_high + (f + log_off(f, e * ln2_low));
  result = x == 0 ? splat(-infinity) : result;
  result = x < infinity ? result : x;
  return x < 0 ? splat(__builtin_nanf("")) : result;
}

/// log(1 + x), by what the sum lost.
static inline Floats log_of_one_plus(Floats x) {
  const Floats u = 1 + x;
  const Scaled parts = split_normal(u);
  const Floats f = parts.fraction - 1, e = parts.exponent;
  const Floats lost = (x > 1 ? 1 - (u - x) : x - (u - 1)) / u;
  Floats result = e * ln2_high + (f + log_off(f, e * ln2_low + lost));
  result = x == -1 ? splat(-infinity) : result;
  result = (u < infinity) & (x != 0) ? result : x;
  return x < -1 ? splat(__builtin_nanf("")) : result;
}

static inline Floats tanh(Floats x) {
  // Of e^(-2|x|) - 1 = d, which keeps its digits near 0: tanh |x| = -d / (2 + d).
  const Scaled e = exp_less_one_parts(at_least(abs(x) * -2, -40));
  const Floats power = (Floats)((to_ints(e.exponent) + 127) << 23);
  const Floats d = e.fraction * power + (power - 1);
  return copy_sign(d / (2 + d), x);
}

static inline Floats sigmoid(Floats x) {
  const Scaled e = exp_parts(at_least(-abs(x), -110));
  const Floats power = scale(e.fraction, e.exponent);
  return (x < 0 ? power : splat(1)) / (1 + power);
}

/// x * sigmoid(y) for y of the sign of x, scaled last where it is small.
static inline Floats times_sigmoid(Floats x, Floats y) {
  const Scaled e = exp_parts(at_least(-abs(y), -150));
  const Floats below = 1 + scale(e.fraction, e.exponent);
  const Floats quotient = (x < 0 ? at_least(x, -150) * e.fraction : x) / below;
  return x < 0 ? scale(quotient, e.exponent) : quotient;
}

static inline Floats silu(Floats x) { return times_sigmoid(x, x); }

static inline Floats gelu_tanh(Floats x) {
  // (1 + tanh u) / 2 is sigmoid(2u); sqrt(2 / pi) and 0.044715 sqrt(2 / pi), doubled.
  return times_sigmoid(x, x * (1.5957691f + 0.071354814f * (x * x)));
}

static inline Floats gelu(Floats x) {
  // max(x, 0) - |x| * Phi(-|x|), where Phi(-a) is e^(-a^2 / 2) * erfcx(a / sqrt 2) / 2, the last
  // two factors a quotient of polynomials; scaled last.
  const Floats a = at_most(abs(x), 14.5f);
  const Floats square = a * a;
  constexpr float to_base_2 = -0.72134752f;
  const Floats exponent = (square * to_base_2 + to_whole) - to_whole;
  const Floats power = exp2_fraction(square * to_base_2 - exponent);
  const Floats above =
      polynomial(a, square, 0.49999997f, 0.33000818f, 0.10230003f, 0.013175793f, 3.3486557e-07f);
  const Floats below =
      polynomial(a, square, 1.0f, 1.4578983f, 0.86786127f, 0.2557124f, 0.033064697f);
  return (x < 0 ? Floats{} : x) - scale((a * power) * above / below, exponent);
}

/// e + log2 m for m about 1; `near` is 1 / (m + 1) in float32.
static inline Doubles log2(Doubles m, Doubles e, Doubles near) {
  const Doubles quotient = (m - 1) * near;
  const Doubles s = quotient + quotient * (1 - (m + 1) * near);
  const Doubles s2 = s * s;
  const Doubles p = polynomial(s2, s2 * s2, 2.8853900817900704, 0.9617966733552348,
                               0.5770835825926048, 0.41167285876707793, 0.34072751031585546);
  return e + s * p;
}

/// The whole number nearest to x.
static inline Doubles whole_part(Doubles x) {
  constexpr double to_whole = 0x1.8p52;
  return (x + to_whole) - to_whole;
}

/// The exponent of 2 that is x^y, less its whole part, and that. It is found in float64: its whole
/// part leaves no digits to spare.
static inline Scaled exponent_of_pow(Scaled x, Floats y) {
  const Floats m = x.fraction, e = x.exponent, near = 1 / (m + 1);
  const Doubles low = widen_low(y) * log2(widen_low(m), widen_low(e), widen_low(near));
  const Doubles high = widen_high(y) * log2(widen_high(m), widen_high(e), widen_high(near));
  const Doubles whole_low = whole_part(low), whole_high = whole_part(high);
  const Floats whole = narrow(whole_low, whole_high);
  const Floats rest = narrow(low - whole_low, high - whole_high);
  return {abs(whole) > 200 ? Floats{} : rest, whole};  // beyond, the rest means nothing
}

static inline Floats pow_from_exponent(Scaled parts) {
  const Floats f = parts.fraction;
  const Floats p =
      polynomial(f, f * f, 0.24022648f, 0.055503324f, 0.009618437f, 0.0013398875f, 0.00015353362f);
  return scale_by_any(1 + f * (0.6931472f + f * p), parts.exponent);
}

/// Where x may be anything and y, too.
static inline Floats pow_of_any(Floats x, Floats y) {
  const Floats a = abs(x);
  Scaled parts = split(a);
  parts.exponent = a == 0 ? splat(-infinity) : parts.exponent;
  parts.exponent = a < infinity ? parts.exponent : a;
  Floats result = pow_from_exponent(exponent_of_pow(parts, y));
  const Floats size_of_y = at_most(abs(y), 0x1p24f);
  const Ints whole = to_ints(size_of_y);
  const Ints is_whole = to_floats(whole) == size_of_y;
  const Ints is_odd = is_whole & ((whole & 1) != 0);
  const Ints negative = (Ints)x < 0;
  result = (Floats)((Ints)result ^ (negative & is_odd & INT32_MIN));
  const Ints undefined = (x < 0) & (x > -infinity) & ~is_whole;
  result = undefined ? splat(__builtin_nanf("")) : result;
  const Ints one = (y == 0) | (x == 1) | ((a == 1) & (abs(y) == infinity));
  return one ? splat(1) : result;
}

static inline Floats pow(Floats x, Floats y) {
  const Ints ordinary = (x >= 0x1p-126f) & (x < infinity) & (abs(y) < infinity);
  if (any(~ordinary)) return pow_of_any(x, y);
  return pow_from_exponent(exponent_of_pow(split_normal(x), y));
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
