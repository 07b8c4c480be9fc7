#pragma once

#include "cpu/kernels/math.hpp"

/// Elementary functions on vectors of float64; those of float32 are computed by them where math.hpp
/// has none of its own. NaN and infinity as in C, and results too small for a normal number, too.
///
/// The largest errors that 400,000 numbers of all sizes showed, in units of the last place of
/// float64: exp and exp2 1.0, log 0.8, log2 and log10 1.1, sin and cos 1.2, acos 1.0, asin 1.2,
/// cosh 1.4, cbrt 1.0, expm1, log1p, atan, atan2 and sinh 1.9, tan 2.3, tanh 2.4, asinh, acosh and
/// atanh 2.6.
namespace tilewright::cpu::TILEWRIGHT_ISA {

constexpr std::size_t wide_lanes = lanes / 2;
constexpr double infinite = __builtin_inf();
typedef std::int64_t SignedLongs __attribute__((vector_size(lanes * 4)));

static inline Doubles wide(double x) { return x - Doubles{}; }
static inline Doubles abs(Doubles x) { return (Doubles)((SignedLongs)x & INT64_MAX); }
static inline Doubles copy_sign(Doubles magnitude, Doubles sign) {
  return (Doubles)(((SignedLongs)magnitude & INT64_MAX) | ((SignedLongs)sign & INT64_MIN));
}
static inline Doubles sqrt(Doubles x) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
  return (Doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (Doubles)_mm_sqrt_pd((__m128d)x);
#else
  for (std::size_t i = 0; i < wide_lanes; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}
static inline bool any(SignedLongs x) { return any((Ints)x); }

/// The whole numbers below 2^51 as integers, and back.
constexpr double to_whole_wide = 0x1.8p52;
static inline SignedLongs whole_bits(Doubles whole) {
  return (SignedLongs)(whole + to_whole_wide) - 0x4338000000000000;
}
static inline Doubles from_whole_bits(SignedLongs whole) {
  return (Doubles)(whole + 0x4338000000000000) - to_whole_wide;
}
/// 2^k for whole k in [-1022, 1023].
static inline Doubles power_of_two(Doubles k) { return (Doubles)((whole_bits(k) + 1023) << 52); }

// Exponentials ------------------------------------------------------------------------------------

constexpr double wide_ln2_high = 0x1.62e42fefp-1;  // of 33 bits
constexpr double wide_ln2_low = 0x1.473de6af278edp-34;
constexpr double wide_ln2 = 0x1.62e42fefa39efp-1;

/// e^r - 1 for |r| up to ln 2 / 2.
static inline Doubles exp_less_one_near_0(Doubles r) {
  const Doubles r2 = r * r;
  return r + r2 * polynomial(r, r2, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5,
                             0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
                             0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22,
                             0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33);
}
struct WideReduced {
  Doubles rest, exponent;
};
static inline WideReduced reduced_by_ln2(Doubles x) {
  const Doubles k = whole_part(x * 0x1.71547652b82fep0);
  return {(x - k * wide_ln2_high) - k * wide_ln2_low, k};
}
static inline Doubles clamped(Doubles x, double low, double high) {
  x = x < low ? wide(low) : x;
  return x > high ? wide(high) : x;
}
static inline Doubles at_most_wide(Doubles x, double limit) { return x > limit ? wide(limit) : x; }
/// x * 2^k for whole k within +-1100.
static inline Doubles scaled(Doubles x, Doubles k) {
  const Doubles half = whole_part(k * 0.5);
  return x * power_of_two(half) * power_of_two(k - half);
}
static inline Doubles exp(Doubles x) {
  const WideReduced r = reduced_by_ln2(clamped(x, -760, 720));
  return scaled(1 + exp_less_one_near_0(r.rest), r.exponent);
}
static inline Doubles exp2(Doubles x) {
  const Doubles inside = clamped(x, -1080, 1030);
  const Doubles k = whole_part(inside);
  return scaled(1 + exp_less_one_near_0((inside - k) * wide_ln2), k);
}
static inline Doubles exp_less_one(Doubles x) {
  const WideReduced r = reduced_by_ln2(clamped(x, -60, 720));
  const Doubles half = power_of_two(r.exponent - 1);
  const Doubles result = 2 * (exp_less_one_near_0(r.rest) * half + (half - 0.5));
  return abs(x) < 0x1p-54 ? x : r.exponent > 1024 ? wide(infinite) : result;
}

// Logarithms --------------------------------------------------------------------------------------

/// Positive numbers as fraction * 2^exponent, the fraction between the roots of 1/2 and 2.
static inline WideReduced split(Doubles x) {
  constexpr std::int64_t sqrt_half = 0x3fe6a09e667f3bcd;
  const SignedLongs tiny = x < 0x1p-1022;
  const SignedLongs bits = (SignedLongs)(tiny ? x * 0x1p54 : x);
  const SignedLongs exponent = (bits - sqrt_half) >> 52;
  return {(Doubles)(bits - (exponent << 52)), from_whole_bits(tiny ? exponent - 54 : exponent)};
}
/// log(1 + f) as f less what is returned.
static inline Doubles log_short_of(Doubles f) {
  const Doubles s = f / (2 + f);
  const Doubles z = s * s, half = 0.5 * f * f;
  const Doubles p =
      z * polynomial(z, z * z, 0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2,
                     0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3,
                     0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
                     0x1.8618618618618p-4, 0x1.642c8590b2164p-4);
  return half - s * (half + p);
}
static inline Doubles log_edges(Doubles x, Doubles result) {
  result = x == 0 ? wide(-infinite) : result;
  result = x < infinite ? result : x;
  return x < 0 ? wide(__builtin_nan("")) : result;
}
static inline Doubles log(Doubles x) {
  const WideReduced parts = split(x);
  const Doubles f = parts.rest - 1, k = parts.exponent;
  return log_edges(x, k * wide_ln2_high - ((log_short_of(f) - k * wide_ln2_low) - f));
}
static inline Doubles log2(Doubles x) {
  const WideReduced parts = split(x);
  const Doubles f = parts.rest - 1;
  // 1 / ln 2 in two parts, and f with few digits, so that their product is exact.
  const Doubles high = (Doubles)((SignedLongs)f & ~std::int64_t{0xffffffff});
  const Doubles low = (f - high) - log_short_of(f);
  constexpr double inverse_high = 0x1.71547652p0, inverse_low = 0x1.705fc2eefa2p-33;
  const Doubles rest = low * (inverse_high + inverse_low) + high * inverse_low;
  return log_edges(x, (parts.exponent + high * inverse_high) + rest);
}
static inline Doubles log10(Doubles x) {
  const WideReduced parts = split(x);
  const Doubles f = parts.rest - 1, k = parts.exponent;
  const Doubles high = (Doubles)((SignedLongs)f & ~std::int64_t{0xffffffff});
  const Doubles low = (f - high) - log_short_of(f);
  constexpr double inverse = 0x1.bcb7b1526e50ep-2;
  constexpr double inverse_high = 0x1.bcb7b15p-2, inverse_low = 0x1.37287195355bbp-33;
  const Doubles rest = low * inverse + (high * inverse_low + k * 0x1.ef3fde623e256p-35);
  return log_edges(x, (k * 0x1.34413509p-2 + high * inverse_high) + rest);
}
static inline Doubles log_of_one_plus(Doubles x) {
  const Doubles u = 1 + x;
  const WideReduced parts = split(u);
  const Doubles f = parts.rest - 1, k = parts.exponent;
  const Doubles lost = (k > 0 ? 1 - (u - x) : x - (u - 1)) / u;
  const Doubles result = k * wide_ln2_high - ((log_short_of(f) - (k * wide_ln2_low + lost)) - f);
  return abs(x) < 0x1p-54 ? x : log_edges(u, result);
}

/// One step of Newton's method on what exp and log give.
static inline Doubles cbrt(Doubles x) {
  const Doubles a = abs(x);
  const Doubles near = exp(log(a) * (1.0 / 3));
  const Doubles better = near - (near - a / (near * near)) * (1.0 / 3);
  return (a > 0) & (a < infinite) ? copy_sign(better, x) : x;
}

// Angles ------------------------------------------------------------------------------------------

/// x less `quarters` of a turn, with what rounding left out.
struct Angle {
  Doubles near, rest;
  SignedLongs quarters;
};
/// What the three parts of pi / 2 reduce exactly.
constexpr double largest_angle = 0x1p19;

static inline Angle reduced_angle(Doubles x) {
  const Doubles k = whole_part(x * 0x1.45f306dc9c883p-1);
  const Doubles first = x - k * 0x1.921fb544p0;
  const Doubles second = k * 0x1.0b4611a6p-34;
  const Doubles near = first - second;
  return {near, ((first - near) - second) - k * 0x1.3198a2e037073p-69, whole_bits(k)};
}
static inline Doubles sine_near_0(const Angle& a) {
  const Doubles r = a.near, z = r * r;
  const Doubles p =
      polynomial(z, z * z, -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13,
                 0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                 -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49);
  return r + (r * z * p + a.rest * (1 - 0.5 * z));
}
static inline Doubles cosine_near_0(const Angle& a) {
  const Doubles r = a.near, z = r * r;
  const Doubles p =
      polynomial(z, z * z, 0x1.5555555555555p-5, -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,
                 -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29, -0x1.93974a8c07c9dp-37,
                 0x1.ae7f3e733b81fp-45, -0x1.6827863b97d97p-53);
  const Doubles half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + (z * z * p - r * a.rest));
}
/// The function of the C library for the lanes whose angle is too large, NaN or infinite.
template <class Function>
static inline Doubles with_large_angles(Doubles x, Doubles result, Function function) {
  const SignedLongs ordinary = abs(x) <= largest_angle;
  if (any(~ordinary)) {
    for (std::size_t i = 0; i < wide_lanes; ++i) {
      if (ordinary[i] == 0) result[i] = function(x[i]);
    }
  }
  return result;
}
static inline Doubles sine_of_quarters(const Angle& a, std::int64_t more) {
  const SignedLongs quarters = a.quarters + more;
  const Doubles size = (quarters & 1) != 0 ? cosine_near_0(a) : sine_near_0(a);
  return (Doubles)((SignedLongs)size ^ (quarters << 62 & INT64_MIN));
}
static inline Doubles sin(Doubles x) {
  const Doubles result = sine_of_quarters(reduced_angle(x), 0);
  return with_large_angles(x, x == 0 ? x : result, [](double one) { return __builtin_sin(one); });
}
static inline Doubles cos(Doubles x) {
  return with_large_angles(x, sine_of_quarters(reduced_angle(x), 1),
                           [](double one) { return __builtin_cos(one); });
}
static inline Doubles tan(Doubles x) {
  const Angle a = reduced_angle(x);
  const Doubles s = sine_near_0(a), c = cosine_near_0(a);
  const SignedLongs odd = (a.quarters & 1) != 0;
  const Doubles result = (odd ? -c : s) / (odd ? s : c);
  return with_large_angles(x, x == 0 ? x : result, [](double one) { return __builtin_tan(one); });
}

constexpr double half_pi = 0x1.921fb54442d18p0, half_pi_low = 0x1.1a62633145c07p-54;

/// atan t - t for |t| up to tan(pi / 8).
static inline Doubles atan_beyond(Doubles t) {
  const Doubles z = t * t;
  return t * z *
         polynomial(z, z * z, -0x1.5555555555555p-2, 0x1.9999999999952p-3, -0x1.249249248d739p-3,
                    0x1.c71c71c2fc236p-4, -0x1.745d165c497f3p-4, 0x1.3b1392a9c2d8bp-4,
                    -0x1.110e84aa36d9dp-4, 0x1.e199c62156609p-5, -0x1.ac7858539e493p-5,
                    0x1.74d3a7b43351ap-5, -0x1.1b1992aa413c9p-5, 0x1.0a997ba33c1dbp-6);
}
static inline Doubles atan(Doubles x) {
  const Doubles a = abs(x);
  const SignedLongs far = a > 0x1.3504f333f9de6p1, mid = a > 0x1.a827999fcef32p-2;
  const Doubles t = far ? -1 / a : mid ? (a - 1) / (a + 1) : a;
  const Doubles base = far ? wide(half_pi) : mid ? wide(half_pi / 2) : Doubles{};
  const Doubles low = far ? wide(half_pi_low) : mid ? wide(half_pi_low / 2) : Doubles{};
  return copy_sign(base + (t + (atan_beyond(t) + low)), x);
}
static inline Doubles atan2(Doubles y, Doubles x) {
  const Doubles a = abs(y), b = abs(x);
  const SignedLongs steep = a > b;
  const Doubles above = steep ? b : a, below = steep ? a : b;
  Doubles q = above / below;
  q = below == 0 ? Doubles{} : q;
  q = above == infinite ? wide(1) : q;
  const SignedLongs mid = q > 0x1.a827999fcef32p-2;
  const Doubles t = mid ? (q - 1) / (q + 1) : q;
  const Doubles base = mid ? wide(half_pi / 2) : Doubles{};
  const Doubles low = atan_beyond(t) + (mid ? wide(half_pi_low / 2) : Doubles{});
  // An angle of the first eighth as base + t + low; the others are their mirror images.
  const SignedLongs back = (SignedLongs)x < 0;
  const Doubles turns = steep ? wide(half_pi) : back ? wide(2 * half_pi) : Doubles{};
  const Doubles turns_low = steep ? wide(half_pi_low) : back ? wide(2 * half_pi_low) : Doubles{};
  const SignedLongs minus = steep ^ back;
  const Doubles sum =
      minus ? (turns - base) + (turns_low - (t + low)) : (turns + base) + (turns_low + (t + low));
  const Doubles result = turns == 0 && base == 0 ? t + low : sum;
  return (y != y) | (x != x) ? y + x : copy_sign(result, y);
}
/// asin s - s for s up to 1/2, whose square is z.
static inline Doubles asin_beyond(Doubles s, Doubles z) {
  return s * z *
         polynomial(z, z * z, 0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5,
                    0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6,
                    0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7, 0x1.52420b04b37bep-7,
                    0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
                    0x1.d72b2bc8155f8p-6);
}
static inline Doubles asin(Doubles x) {
  const Doubles a = abs(x);
  const SignedLongs steep = a > 0.5;
  const Doubles z = steep ? (1 - a) * 0.5 : a * a;
  const Doubles s = steep ? sqrt(z) : a;
  const Doubles p = asin_beyond(s, z);
  // The root, exact: s and what it leaves out.
  const Doubles left = steep ? (z - s * s) / (2 * s) : Doubles{};
  const Doubles mirrored =
      half_pi - (2 * s - (half_pi_low - 2 * (p + (s == 0 ? Doubles{} : left))));
  return copy_sign(steep ? mirrored : s + p, x);
}
static inline Doubles acos(Doubles x) {
  const Doubles a = abs(x);
  const SignedLongs steep = a > 0.5;
  const Doubles z = steep ? (1 - a) * 0.5 : a * a;
  const Doubles s = steep ? sqrt(z) : a;
  const Doubles p = asin_beyond(s, z);
  const Doubles left = steep & (s > 0) ? (z - s * s) / (2 * s) : Doubles{};
  const Doubles doubled = 2 * (s + (p + left));
  const Doubles level = copy_sign(s, x), bent = copy_sign(p, x);
  const Doubles flat = half_pi - (level - (half_pi_low - bent));
  const Doubles behind = 2 * half_pi - (doubled - 2 * half_pi_low);
  return steep ? (x < 0 ? behind : doubled) : flat;
}

// Hyperbolic functions ----------------------------------------------------------------------------

/// e^a / 2 for a so large that e^a alone may be too much.
static inline Doubles half_exp(Doubles a) {
  const WideReduced r = reduced_by_ln2(clamped(a, 0, 720));
  return scaled(1 + exp_less_one_near_0(r.rest), r.exponent - 1);
}
static inline Doubles sinh(Doubles x) {
  const Doubles a = abs(x);
  const Doubles t = exp_less_one(at_most_wide(a, 30));
  return copy_sign(a > 22 ? half_exp(a) : 0.5 * (t + t / (t + 1)), x);
}
static inline Doubles cosh(Doubles x) {
  const Doubles a = abs(x);
  const Doubles t = exp(at_most_wide(a, 30));
  return a > 22 ? half_exp(a) : 0.5 * (t + 1 / t);
}
static inline Doubles tanh(Doubles x) {
  const Doubles t = exp_less_one(2 * at_most_wide(abs(x), 22));
  return copy_sign(t / (t + 2), x);
}
static inline Doubles asinh(Doubles x) {
  const Doubles a = abs(x), inside = at_most_wide(a, 0x1p28);
  const Doubles square = inside * inside;
  const Doubles near = log_of_one_plus(inside + square / (1 + sqrt(square + 1)));
  return copy_sign(a > 0x1p28 ? log(a) + wide_ln2 : near, x);
}
static inline Doubles acosh(Doubles x) {
  const Doubles t = at_most_wide(x, 0x1p28) - 1;
  const Doubles near = log_of_one_plus(t + sqrt(t * (2 + t)));
  return x > 0x1p28 ? log(x) + wide_ln2 : x < 1 ? wide(__builtin_nan("")) : near;
}
static inline Doubles atanh(Doubles x) {
  const Doubles a = abs(x), t = 2 * a;
  const Doubles inside = copy_sign(0.5 * log_of_one_plus(t + t * a / (1 - a)), x);
  return a > 1 ? wide(__builtin_nan("")) : inside;
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
