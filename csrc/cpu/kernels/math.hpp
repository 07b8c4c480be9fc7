#pragma once

#include "cpu/kernels/simd.hpp"

/// Elementary functions on vectors, without branches. NaN and infinity as in C; results too small
/// for a normal number are right, too.
///
/// The largest errors, in units of the last place, against float64 over all of float32 (every
/// 1031st; pow: 8 million pairs): exp 0.98, log 0.76, tanh 2.5, sigmoid 2.1, silu 2.7, gelu 7, pow
/// 0.51; gelu_tanh 2.8 above -1 and 180 far below 0, where its result is next to nothing.
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

/// e^(x + rest) - 1 before scaling: the fraction is that of e^x less 1. For |x| up to 170.
static inline Scaled exp_less_one_parts(Floats x, Floats rest = Floats{}) {
  constexpr float to_whole = 0x1.8p23f;  // added and taken away: rounds to nearest
  const Floats exponent = (x * 0x1.715476p0f + to_whole) - to_whole;
  const Floats r = ((x - exponent * ln2_high) - exponent * ln2_low) + rest;
  const Floats r2 = r * r;
  const Floats p =
      polynomial(r, r2, 0.49999994f, 0.16666521f, 0.041668274f, 0.008368685f, 0.001382011f);
  return {r + r2 * p, exponent};
}

/// e^(x + rest), for |x| up to 170.
static inline Scaled exp_parts(Floats x, Floats rest = Floats{}) {
  const Scaled less_one = exp_less_one_parts(x, rest);
  return {less_one.fraction + 1, less_one.exponent};
}

/// At most that of x, and NaN where x is.
static inline Floats at_most(Floats x, float limit) { return x > limit ? splat(limit) : x; }
static inline Floats at_least(Floats x, float limit) { return x < limit ? splat(limit) : x; }

static inline Floats exp(Floats x) {
  const Scaled e = exp_parts(at_least(at_most(x, 90), -110));
  return scale(e.fraction, e.exponent);
}

static inline Floats log(Floats x) {
  constexpr std::int32_t sqrt_half = 0x3f3504f3;
  const Ints tiny = x < 0x1p-126f;
  const Ints bits = (Ints)(tiny ? x * 0x1p23f : x);
  const Ints exponent = (bits - sqrt_half) >> 23;
  const Floats f = (Floats)(bits - (exponent << 23)) - 1;
  const Floats e = to_floats(exponent - (tiny & 23));
  const Floats f2 = f * f;
  const Floats p = polynomial(f, f2, 0.33333313f, -0.2500001f, 0.20002072f, -0.16667989f,
                              0.1422036f, -0.1240624f, 0.118835375f, -0.11670025f, 0.0674919f);
  Floats result = e * ln2_high + (f + (f * f2 * p + e * ln2_low - f2 * 0.5f));
  result = x == 0 ? splat(-infinity) : result;
  result = x < infinity ? result : x;
  return x < 0 ? splat(__builtin_nanf("")) : result;
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
  // max(x, 0) - |x| * Phi(-|x|), where Phi(-a) is e^(-a^2 / 2) * erfcx(a / sqrt 2) / 2, and the
  // last two factors are a polynomial in t; scaled last.
  const Floats a = at_most(abs(x), 14.5f);
  const Floats half = a * -0.5f, square = half * a;
  const Scaled e = exp_parts(square, product_error(half, a, square));
  const Floats t = 1 / (1 + a * 0.24748737f);
  const Floats p =
      polynomial(t, t * t, 0.0987408f, 0.098589085f, 0.09379478f, 0.07628653f, 0.07110706f,
                 0.046926238f, -0.017804718f, 0.09359132f, -0.08064231f, 0.019411223f);
  const Floats tail = scale((a * t) * (e.fraction * p), e.exponent);
  return (x < 0 ? Floats{} : x) - tail;
}

/// Of positive finite doubles.
static inline Doubles log2(Doubles x) {
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  constexpr double to_whole = 0x1.8p52;
  const Longs bits = (Longs)x;
  const Longs biased = (bits - sqrt_half + (std::uint64_t{1024} << 52)) >> 52;
  const Doubles e = (Doubles)(biased + (Longs)(Doubles{} + to_whole)) - (to_whole + 1024);
  const Doubles m = (Doubles)(bits - ((biased - 1024) << 52));
  const Doubles s = (m - 1) / (m + 1);
  const Doubles s2 = s * s;
  const Doubles p = polynomial(s2, s2 * s2, 2.8853900817900704, 0.9617966733552348,
                               0.5770835825926048, 0.41167285876707793, 0.34072751031585546);
  return e + s * p;
}

/// For |x| up to 1000.
static inline Doubles exp2(Doubles x) {
  constexpr double to_whole = 0x1.8p52;
  const Doubles shifted = x + to_whole;
  const Doubles r = x - (shifted - to_whole);
  const Doubles p = polynomial(r, r * r, 0.6931471807046444, 0.24022651067003037,
                               0.05550410365388834, 0.00961803806057979, 0.001333393542369928,
                               0.00015466781096968002, 1.5196105391814757e-05);
  return (p * r + 1) * (Doubles)(((Longs)shifted + 1023) << 52);
}

/// x^y for half a vector of float32 that are not negative.
static inline Doubles pow_of_magnitude(Doubles x, Doubles y) {
  Doubles l = log2(x);
  l = x == 0 ? Doubles{} - __builtin_inf() : l;
  l = x < __builtin_inf() ? l : x;
  Doubles exponent = y * l;
  exponent = exponent < -200 ? Doubles{} - 200 : exponent;
  exponent = exponent > 200 ? Doubles{} + 200 : exponent;
  return exp2(exponent);
}

static inline Floats pow(Floats x, Floats y) {
  const Floats a = abs(x);
  Floats result = narrow(pow_of_magnitude(widen_low(a), widen_low(y)),
                         pow_of_magnitude(widen_high(a), widen_high(y)));
  const Floats size_of_y = at_most(abs(y), 0x1p24f);
  const Ints whole = to_ints(size_of_y);
  const Ints is_odd = (to_floats(whole) == size_of_y) & ((whole & 1) != 0);
  const Ints is_whole = to_floats(whole) == size_of_y;
  const Ints negative = (Ints)x < 0;
  result = (Floats)((Ints)result ^ (negative & is_odd & INT32_MIN));
  const Ints undefined = (x < 0) & (x > -infinity) & ~is_whole;
  result = undefined ? splat(__builtin_nanf("")) : result;
  const Ints one = (y == 0) | (x == 1) | ((a == 1) & (abs(y) == infinity));
  return one ? splat(1) : result;
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
