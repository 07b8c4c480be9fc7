#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/angles.hpp"
#include "cpu/kernels/binary.hpp"
#include "cpu/kernels/wide_math.hpp"

/// The functions that core/program/elementwise.def spells: of a vector of float32 or of float64,
/// and of one integer each. Compiled with integers that wrap.
namespace tilewright::cpu::TILEWRIGHT_ISA {

// One function of the C library for each lane.
template <class Vector, class Function>
static inline Vector each(Vector x, Function function) {
  for (std::size_t i = 0; i < sizeof x / sizeof x[0]; ++i) x[i] = function(x[i]);
  return x;
}
template <class Vector, class Function>
static inline Vector each(Vector x, Vector y, Function function) {
  for (std::size_t i = 0; i < sizeof x / sizeof x[0]; ++i) x[i] = function(x[i], y[i]);
  return x;
}
/// Of float32 in float64.
template <class Function>
static inline Floats widely(Floats x, Function function) {
  return narrow(function(widen_low(x)), function(widen_high(x)));
}
template <class Function>
static inline Floats widely(Floats x, Floats y, Function function) {
  return narrow(function(widen_low(x), widen_low(y)), function(widen_high(x), widen_high(y)));
}

#define TILEWRIGHT_FUNCTION(name, function)                      \
  static inline Doubles name(Doubles x) { return function(x); }  \
  static inline Floats name(Floats x) {                          \
    return widely(x, [](Doubles one) { return function(one); }); \
  }
TILEWRIGHT_FUNCTION(exponential_2, exp2)
TILEWRIGHT_FUNCTION(logarithm_2, log2)
TILEWRIGHT_FUNCTION(logarithm_10, log10)
TILEWRIGHT_FUNCTION(cube_root, cbrt)
TILEWRIGHT_FUNCTION(tangent, tan)
TILEWRIGHT_FUNCTION(arc_sine, asin)
TILEWRIGHT_FUNCTION(arc_cosine, acos)
TILEWRIGHT_FUNCTION(hyperbolic_sine, sinh)
TILEWRIGHT_FUNCTION(hyperbolic_cosine, cosh)
TILEWRIGHT_FUNCTION(area_sine, asinh)
TILEWRIGHT_FUNCTION(area_cosine, acosh)
TILEWRIGHT_FUNCTION(area_tangent, atanh)
#undef TILEWRIGHT_FUNCTION

static inline Floats error_function(Floats x) {
  return each(x, [](float one) { return __builtin_erff(one); });
}
static inline Doubles error_function(Doubles x) {
  return each(x, [](double one) { return __builtin_erf(one); });
}

// Floats
// --------------------------------------------------------------------------------------------

static inline Floats logarithm_of_one_plus(Floats x) { return log_of_one_plus(x); }
static inline Doubles logarithm_of_one_plus(Doubles x) { return log_of_one_plus(x); }
static inline Floats exponential_less_one(Floats x) { return exp_less_one(x); }
static inline Doubles exponential_less_one(Doubles x) { return exp_less_one(x); }
static inline Floats sine(Floats x) { return sin(x); }
static inline Doubles sine(Doubles x) { return sin(x); }
static inline Floats cosine(Floats x) { return cos(x); }
static inline Doubles cosine(Doubles x) { return cos(x); }
static inline Floats arc_tangent(Floats x) { return atan(x); }
static inline Doubles arc_tangent(Doubles x) { return atan(x); }
static inline Floats exponential(Floats x) { return exp(x); }
static inline Doubles exponential(Doubles x) { return exp(x); }
static inline Floats logarithm(Floats x) { return log(x); }
static inline Doubles logarithm(Doubles x) { return log(x); }
static inline Floats hyperbolic_tangent(Floats x) { return tanh(x); }
static inline Doubles hyperbolic_tangent(Doubles x) { return tanh(x); }
static inline Floats square_root(Floats x) { return sqrt(x); }
static inline Doubles square_root(Doubles x) { return sqrt(x); }
static inline Floats power(Floats x, Floats y) { return pow(x, y); }
static inline Doubles power(Doubles x, Doubles y) {
  return each(x, y, [](double a, double b) { return __builtin_pow(a, b); });
}
static inline Doubles arc_tangent_2(Doubles y, Doubles x) { return atan2(y, x); }
static inline Floats arc_tangent_2(Floats y, Floats x) { return atan2(y, x); }
static inline Floats next_after(Floats x, Floats y) {
  return each(x, y, [](float a, float b) { return __builtin_nextafterf(a, b); });
}
static inline Doubles next_after(Doubles x, Doubles y) {
  return each(x, y, [](double a, double b) { return __builtin_nextafter(a, b); });
}

static inline Floats logistic(Floats x) { return sigmoid(x); }
static inline Doubles logistic(Doubles x) {
  const Doubles e = exp(-abs(x));
  return (x < 0 ? e : wide(1)) / (1 + e);
}
/// x * sigmoid(y) for y of the sign of x; nothing of an infinity is nothing.
static inline Doubles times_sigmoid(Doubles x, Doubles y) {
  const Doubles weight = logistic(y);
  return weight == 0 ? Doubles{} : x * weight;
}
static inline Doubles silu(Doubles x) { return times_sigmoid(x, x); }
static inline Doubles gelu(Doubles x) {
  const Doubles weight =
      each(x * -0.70710678118654752440, [](double y) { return __builtin_erfc(y) / 2; });
  return weight == 0 ? Doubles{} : x * weight;
}
static inline Doubles gelu_tanh(Doubles x) {
  return times_sigmoid(x, 1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

template <class Vector>
static inline Vector divide(Vector a, Vector b) {
  return a / b;
}
static inline Floats reciprocal(Floats x) { return 1 / x; }
static inline Doubles reciprocal(Doubles x) { return 1 / x; }
static inline Floats negate(Floats x) { return -x; }
static inline Doubles negate(Doubles x) { return -x; }
static inline Floats magnitude(Floats x) { return abs(x); }
static inline Doubles magnitude(Doubles x) { return abs(x); }
static inline Floats rectified(Floats x) { return x < 0 ? Floats{} : x; }
static inline Doubles rectified(Doubles x) { return x < 0 ? Doubles{} : x; }
static inline Floats sign_of(Floats x) {
  const Floats one = copy_sign(splat(1), x);
  return x == 0 ? Floats{} : x == x ? one : x;
}
static inline Doubles sign_of(Doubles x) {
  const Doubles one = copy_sign(wide(1), x);
  return x == 0 ? Doubles{} : x == x ? one : x;
}
static inline Floats maximum(Floats a, Floats b) { return max_of(a, b); }
static inline Floats minimum(Floats a, Floats b) { return min_of(a, b); }
static inline Doubles maximum(Doubles a, Doubles b) { return a == a ? (a > b ? a : b) : a; }
static inline Doubles minimum(Doubles a, Doubles b) { return a == a ? (a < b ? a : b) : a; }

// Of neural networks.
static inline Floats all_of(float, double number) { return splat(static_cast<float>(number)); }
static inline Doubles all_of(double, double number) { return wide(number); }
template <class Vector>
static inline Vector number(double value) {
  return all_of(Vector{}[0], value);
}
template <class Vector>
static inline Vector leaky(Vector x, Vector slope) {
  return x > 0 ? x : x * slope;
}
template <class Vector>
static inline Vector exponential_unit(Vector x, Vector alpha) {
  return x > 0 ? x : alpha * exponential_less_one(x);
}
template <class Vector>
static inline Vector scaled_unit(Vector x) {
  const Vector unit = exponential_unit(x, number<Vector>(1.6732632423543772));
  return unit * number<Vector>(1.0507009873554805);
}
template <class Vector>
static inline Vector hard_logistic(Vector x) {
  const Vector inside = minimum(maximum(x + 3, Vector{}), number<Vector>(6));
  return inside * number<Vector>(1.0 / 6);
}
template <class Vector>
static inline Vector hard_swish(Vector x) {
  const Vector above = maximum(x, number<Vector>(-3));
  return above * (minimum(above + 3, number<Vector>(6)) * number<Vector>(1.0 / 6));
}
template <class Vector>
static inline Vector soft_sign(Vector x) {
  const Vector near = minimum(maximum(x, number<Vector>(-1e30)), number<Vector>(1e30));
  return near / (magnitude(near) + 1);
}

/// What is 2^23 or more is whole already, and so are infinity and NaN.
static inline Floats round_to_even(Floats x) {
  const Floats lift = copy_sign(splat(0x1p23f), x);
  return abs(x) < 0x1p23f ? copy_sign((x + lift) - lift, x) : x;
}
static inline Doubles round_to_even(Doubles x) {
  const Doubles lift = copy_sign(wide(0x1p52), x);
  return abs(x) < 0x1p52 ? copy_sign((x + lift) - lift, x) : x;
}
#if defined(__AVX512F__)
static inline Floats round_down(Floats x) {
  return (Floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline Floats round_up(Floats x) {
  return (Floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
#elif defined(__AVX2__)
static inline Floats round_down(Floats x) { return (Floats)_mm256_floor_ps((__m256)x); }
static inline Floats round_up(Floats x) { return (Floats)_mm256_ceil_ps((__m256)x); }
#endif
template <class Vector>
static inline Vector round_down(Vector x) {
  const Vector near = round_to_even(x);
  return near > x ? near - 1 : near;
}
template <class Vector>
static inline Vector round_up(Vector x) {
  const Vector near = round_to_even(x);
  return near < x ? copy_sign(near + 1, x) : near;
}
template <class Vector>
static inline Vector round_to_zero(Vector x) {
  return copy_sign(round_down(abs(x)), x);
}

/// As Python has it: of the sign of b, and a zero of its sign.
static inline double remainder(double a, double b) {
  const double rest = __builtin_fmod(a, b);
  if (b == 0) return rest;  // NaN
  if (rest == 0) return __builtin_copysign(0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
static inline double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double rest = __builtin_fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return __builtin_copysign(0, a / b);
  const double down = __builtin_floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
static inline Doubles remainder(Doubles a, Doubles b) {
  return each(a, b, [](double x, double y) { return remainder(x, y); });
}
static inline Doubles floor_divide(Doubles a, Doubles b) {
  return each(a, b, [](double x, double y) { return floor_divide(x, y); });
}
/// Of float32 that was widened, whose quotients below 2^28 are told from whole numbers, and whose
/// products with these are exact.
static inline SignedLongs is_tame(Doubles quotient) {
  return (abs(quotient) < 0x1p28) & (quotient != 0);  // 0 of 0, and of what infinity divides
}
static inline Doubles remainder_of_floats(Doubles a, Doubles b) {
  const Doubles quotient = a / b;
  const Doubles rest = a - round_down(quotient) * b;
  if (any(~is_tame(quotient))) return remainder(a, b);
  return rest == 0 ? copy_sign(Doubles{}, b) : rest;
}
static inline Doubles floor_divide_of_floats(Doubles a, Doubles b) {
  const Doubles quotient = a / b;
  if (any(~is_tame(quotient))) return floor_divide(a, b);
  return round_down(quotient);
}
static inline Floats remainder(Floats a, Floats b) {
  return widely(a, b, [](Doubles x, Doubles y) { return remainder_of_floats(x, y); });
}
static inline Floats floor_divide(Floats a, Floats b) {
  return widely(a, b, [](Doubles x, Doubles y) { return floor_divide_of_floats(x, y); });
}

static inline Doubles log_add_exp(Doubles a, Doubles b) {
  const Doubles larger = maximum(a, b);
  const Doubles result = larger + log_of_one_plus(exp(-abs(a - b)));
  return a == b ? a + wide_ln2 : result;  // also of infinities
}
static inline Floats log_add_exp(Floats a, Floats b) {
  return widely(a, b, [](Doubles x, Doubles y) { return log_add_exp(x, y); });
}
static inline Floats hypotenuse(Floats a, Floats b) {
  const Floats result = widely(a, b, [](Doubles x, Doubles y) { return sqrt(x * x + y * y); });
  return (abs(a) == infinity) | (abs(b) == infinity) ? splat(infinity) : result;
}
static inline Doubles hypotenuse(Doubles a, Doubles b) {
  const Doubles x = abs(a), y = abs(b);
  const Doubles larger = x > y ? x : y, smaller = x > y ? y : x;
  const Doubles q = smaller / larger;
  Doubles result = larger * sqrt(1 + q * q);
  result = larger == 0 ? larger : result;
  result = (x != x) | (y != y) ? x + y : result;
  return (x == infinite) | (y == infinite) ? wide(infinite) : result;
}

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
  static constexpr Type sign = 0x80000000u, infinity = 0x7f800000u;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
  static constexpr Type sign = 0x8000000000000000u, infinity = 0x7ff0000000000000u;
};
template <class T>
static inline typename BitsOf<T>::Type bits_of(T x) {
  typename BitsOf<T>::Type bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class T>
static inline bool has_sign(T x) {
  return (bits_of(x) & BitsOf<T>::sign) != 0;
}
template <class T>
static inline bool is_nan(T x) {
  return (bits_of(x) & ~BitsOf<T>::sign) > BitsOf<T>::infinity;
}
template <class T>
static inline bool is_infinite(T x) {
  return (bits_of(x) & ~BitsOf<T>::sign) == BitsOf<T>::infinity;
}
template <class T>
static inline bool is_finite(T x) {
  return (bits_of(x) & ~BitsOf<T>::sign) < BitsOf<T>::infinity;
}

// Integers and bool -------------------------------------------------------------------------------

static inline bool is_below(std::int32_t x) { return x < 0; }
static inline bool is_below(std::int64_t x) { return x < 0; }
static inline bool is_below(std::uint32_t) { return false; }
static inline bool is_below(std::uint64_t) { return false; }

/// For each of the integer types.
#define TILEWRIGHT_INTEGER(T, is_signed)                                                    \
  static inline T negate(T x) { return static_cast<T>(0 - x); }                             \
  static inline T magnitude(T x) { return is_below(x) ? negate(x) : x; }                    \
  static inline T sign_of(T x) { return x > 0 ? 1 : is_below(x) ? static_cast<T>(-1) : 0; } \
  static inline T maximum(T a, T b) { return a > b ? a : b; }                               \
  static inline T minimum(T a, T b) { return a < b ? a : b; }                               \
  static inline T floor_divide(T a, T b) {                                                  \
    if (b == 0) return 0;                                                                   \
    if (is_signed && b == static_cast<T>(-1)) return negate(a);                             \
    const T quotient = a / b;                                                               \
    return (a % b != 0) && (is_below(a) != is_below(b)) ? quotient - 1 : quotient;          \
  }                                                                                         \
  static inline T remainder(T a, T b) {                                                     \
    if (b == 0 || (is_signed && b == static_cast<T>(-1))) return 0;                         \
    const T rest = a % b;                                                                   \
    return rest != 0 && (is_below(rest) != is_below(b)) ? rest + b : rest;                  \
  }                                                                                         \
  static inline T power(T x, T y) {                                                         \
    if (is_below(y)) {                                                                      \
      if (x == 1) return 1;                                                                 \
      return x == static_cast<T>(-1) ? ((y & 1) != 0 ? x : 1) : 0;                          \
    }                                                                                       \
    T result = 1;                                                                           \
    for (; y != 0; y >>= 1, x *= x) {                                                       \
      if ((y & 1) != 0) result *= x;                                                        \
    }                                                                                       \
    return result;                                                                          \
  }                                                                                         \
  static inline T shift_left(T a, T b) {                                                    \
    constexpr T width = 8 * sizeof(T);                                                      \
    return is_below(b) || b >= width ? 0 : static_cast<T>(a << b);                          \
  }                                                                                         \
  static inline T shift_right(T a, T b) {                                                   \
    constexpr T width = 8 * sizeof(T);                                                      \
    return !is_below(b) && b < width ? static_cast<T>(a >> b)                               \
           : is_below(a)             ? static_cast<T>(-1)                                   \
                                     : 0;                                                   \
  }                                                                                         \
  static inline T bits_and(T a, T b) { return a & b; }                                      \
  static inline T bits_or(T a, T b) { return a | b; }                                       \
  static inline T bits_xor(T a, T b) { return a ^ b; }                                      \
  static inline T bits_not(T a) { return ~a; }
TILEWRIGHT_INTEGER(std::int32_t, true)
TILEWRIGHT_INTEGER(std::uint32_t, false)
TILEWRIGHT_INTEGER(std::int64_t, true)
TILEWRIGHT_INTEGER(std::uint64_t, false)
#undef TILEWRIGHT_INTEGER

/// What stores bool is 0 or 1.
using Bool = std::uint8_t;
static inline Bool bits_and(Bool a, Bool b) { return a & b; }
static inline Bool bits_or(Bool a, Bool b) { return a | b; }
static inline Bool bits_xor(Bool a, Bool b) { return a ^ b; }
static inline Bool bits_not(Bool a) { return a ^ 1; }

template <class T>
static inline T choose(Bool condition, T a, T b) {
  return condition != 0 ? a : b;
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
