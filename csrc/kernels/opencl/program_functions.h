// The functions that core/program/elementwise.def spells, of one element of each class that the
// rules allow: bool, i32, u32, i64, u64, f32 and f64. Integers wrap.

typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef double f64;

VECTOR_TYPE(short, 4);
VECTOR_TYPE(long, 4);
VECTOR_TYPE(ulong, 4);
VECTOR_TYPE(double, 4);
typedef int4 i32x4;
typedef uint4 u32x4;
typedef long4 i64x4;
typedef ulong4 u64x4;
typedef float4 f32x4;
typedef double4 f64x4;

#define FUNCTION static inline __attribute__((overloadable))
#define DBL_MAX 0x1.fffffffffffffp1023
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_double(x) __builtin_astype((x), double)

#define FOR_REALS(declare) declare(float) declare(double)
#define UNARY_OF_REALS(T)    \
  T BUILTIN acos(T);         \
  T BUILTIN acosh(T);        \
  T BUILTIN asin(T);         \
  T BUILTIN asinh(T);        \
  T BUILTIN atan(T);         \
  T BUILTIN atanh(T);        \
  T BUILTIN cbrt(T);         \
  T BUILTIN ceil(T);         \
  T BUILTIN cos(T);          \
  T BUILTIN cosh(T);         \
  T BUILTIN erf(T);          \
  T BUILTIN erfc(T);         \
  T BUILTIN exp(T);          \
  T BUILTIN exp2(T);         \
  T BUILTIN expm1(T);        \
  T BUILTIN fabs(T);         \
  T BUILTIN floor(T);        \
  T BUILTIN log(T);          \
  T BUILTIN log10(T);        \
  T BUILTIN log1p(T);        \
  T BUILTIN log2(T);         \
  T BUILTIN rint(T);         \
  T BUILTIN sin(T);          \
  T BUILTIN sinh(T);         \
  T BUILTIN sqrt(T);         \
  T BUILTIN tan(T);          \
  T BUILTIN tanh(T);         \
  T BUILTIN trunc(T);        \
  T BUILTIN atan2(T, T);     \
  T BUILTIN copysign(T, T);  \
  T BUILTIN fmax(T, T);      \
  T BUILTIN fmod(T, T);      \
  T BUILTIN hypot(T, T);     \
  T BUILTIN nextafter(T, T); \
  T BUILTIN pow(T, T);
FOR_REALS(UNARY_OF_REALS)

// Those of the kernels, of float32.
#define VALUE float
#include "functions.h"

FUNCTION float hyperbolic_tangent(float x) { return op_tanh(x); }
FUNCTION float logistic(float x) { return op_sigmoid(x); }
FUNCTION float silu(float x) { return op_silu(x); }
FUNCTION float gelu(float x) { return op_gelu(x); }
FUNCTION float gelu_tanh(float x) { return op_gelu_tanh(x); }

/// x * sigmoid(y) for y of the sign of x.
static inline double times_logistic(double x, double y) {
  const double power = exp(-fabs(y));
  // Not -infinity, which a factor of 0 would make NaN.
  const double above = x < 0 ? fmax(x, -DBL_MAX) * power : x;
  return x != x ? x : above / (1 + power);
}
FUNCTION double hyperbolic_tangent(double x) { return tanh(x); }
FUNCTION double logistic(double x) {
  const double power = exp(-fabs(x));
  return (x < 0 ? power : 1) / (1 + power);
}
FUNCTION double silu(double x) { return times_logistic(x, x); }
FUNCTION double gelu(double x) {
  return fmax(x, -DBL_MAX) * (0.5 * erfc(x * -0.70710678118654752440));
}
FUNCTION double gelu_tanh(double x) {
  // (1 + tanh u) / 2 is sigmoid(2u); sqrt(2 / pi) and 0.044715 sqrt(2 / pi), doubled.
  return times_logistic(x, x * (1.5957691216057307 + 0.071354816272600249 * (x * x)));
}

// Floats ------------------------------------------------------------------------------------------

#define REAL_FUNCTIONS(T)                                                                      \
  FUNCTION T divide(T a, T b) { return a / b; }                                                \
  FUNCTION T reciprocal(T x) { return 1 / x; }                                                 \
  FUNCTION T negate(T x) { return -x; }                                                        \
  FUNCTION T magnitude(T x) { return fabs(x); }                                                \
  FUNCTION T sign_of(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }                  \
  FUNCTION T rectified(T x) { return x < 0 ? 0 : x; }                                          \
  FUNCTION T maximum(T a, T b) { return a > b || a != a ? a : b; }                             \
  FUNCTION T minimum(T a, T b) { return a < b || a != a ? a : b; }                             \
  /* As Python has it: of the sign of b, a zero too. */                                        \
  FUNCTION T remainder(T a, T b) {                                                             \
    const T rest = fmod(a, b);                                                                 \
    if (b == 0) return rest;                                                                   \
    if (rest == 0) return copysign((T)0, b);                                                   \
    return (rest < 0) != (b < 0) ? rest + b : rest;                                            \
  }                                                                                            \
  FUNCTION T floor_divide(T a, T b) {                                                          \
    if (b == 0) return a / b;                                                                  \
    const T rest = fmod(a, b);                                                                 \
    const T exact = (a - rest) / b;                                                            \
    const T quotient = rest != 0 && (rest < 0) != (b < 0) ? exact - 1 : exact;                 \
    if (quotient == 0) return copysign((T)0, a / b);                                           \
    const T down = floor(quotient);                                                            \
    return quotient - down > (T)0.5 ? down + 1 : down;                                         \
  }                                                                                            \
  FUNCTION T log_add_exp(T a, T b) {                                                           \
    if (a == b) return a + (T)0.69314718055994530942; /* infinities too */                     \
    const T difference = a - b;                                                                \
    if (difference != difference) return difference;                                           \
    return (difference > 0 ? a : b) + log1p(exp(-fabs(difference)));                           \
  }                                                                                            \
  FUNCTION T round_down(T x) { return floor(x); }                                              \
  FUNCTION T round_up(T x) { return ceil(x); }                                                 \
  FUNCTION T round_to_zero(T x) { return trunc(x); }                                           \
  FUNCTION T round_to_even(T x) { return rint(x); }                                            \
  FUNCTION T square_root(T x) { return sqrt(x); }                                              \
  FUNCTION T cube_root(T x) { return cbrt(x); }                                                \
  FUNCTION T hypotenuse(T a, T b) { return hypot(a, b); }                                      \
  FUNCTION T power(T a, T b) { return pow(a, b); }                                             \
  FUNCTION T exponential(T x) { return exp(x); }                                               \
  FUNCTION T exponential_2(T x) { return exp2(x); }                                            \
  FUNCTION T exponential_less_one(T x) { return expm1(x); }                                    \
  FUNCTION T leaky(T x, T slope) { return x > 0 ? x : x * slope; }                             \
  FUNCTION T exponential_unit(T x, T alpha) { return x > 0 ? x : alpha * expm1(x); }           \
  FUNCTION T scaled_unit(T x) {                                                                \
    const T unit = exponential_unit(x, (T)1.6732632423543772);                                 \
    return unit * (T)1.0507009873554805;                                                       \
  }                                                                                            \
  FUNCTION T hard_logistic(T x) { return minimum(maximum(x + 3, (T)0), (T)6) * (T)(1.0 / 6); } \
  FUNCTION T hard_swish(T x) {                                                                 \
    const T above = maximum(x, (T) - 3);                                                       \
    return above * (minimum(above + 3, (T)6) * (T)(1.0 / 6));                                  \
  }                                                                                            \
  FUNCTION T soft_sign(T x) {                                                                  \
    const T near = minimum(maximum(x, (T) - 1e30), (T)1e30);                                   \
    return near / (fabs(near) + 1);                                                            \
  }                                                                                            \
  FUNCTION T logarithm(T x) { return log(x); }                                                 \
  FUNCTION T logarithm_2(T x) { return log2(x); }                                              \
  FUNCTION T logarithm_10(T x) { return log10(x); }                                            \
  FUNCTION T logarithm_of_one_plus(T x) { return log1p(x); }                                   \
  FUNCTION T sine(T x) { return sin(x); }                                                      \
  FUNCTION T cosine(T x) { return cos(x); }                                                    \
  FUNCTION T tangent(T x) { return tan(x); }                                                   \
  FUNCTION T arc_sine(T x) { return asin(x); }                                                 \
  FUNCTION T arc_cosine(T x) { return acos(x); }                                               \
  FUNCTION T arc_tangent(T x) { return atan(x); }                                              \
  FUNCTION T arc_tangent_2(T a, T b) { return atan2(a, b); }                                   \
  FUNCTION T hyperbolic_sine(T x) { return sinh(x); }                                          \
  FUNCTION T hyperbolic_cosine(T x) { return cosh(x); }                                        \
  FUNCTION T area_sine(T x) { return asinh(x); }                                               \
  FUNCTION T area_cosine(T x) { return acosh(x); }                                             \
  FUNCTION T area_tangent(T x) { return atanh(x); }                                            \
  FUNCTION T error_function(T x) { return erf(x); }                                            \
  FUNCTION T copy_sign(T a, T b) { return copysign(a, b); }                                    \
  FUNCTION T next_after(T a, T b) { return nextafter(a, b); }                                  \
  FUNCTION bool is_nan(T x) { return x != x; }                                                 \
  FUNCTION bool is_infinite(T x) { return fabs(x) == INFINITY; }                               \
  FUNCTION bool is_finite(T x) { return fabs(x) < INFINITY; }                                  \
  FUNCTION T choose(bool condition, T a, T b) { return condition ? a : b; }
FOR_REALS(REAL_FUNCTIONS)
FUNCTION bool has_sign(float x) { return as_uint(x) >> 31 != 0; }
FUNCTION bool has_sign(double x) { return as_ulong(x) >> 63 != 0; }

// Integers and bool -------------------------------------------------------------------------------

#define SIGNED_FUNCTIONS(T, U)                                                \
  FUNCTION T magnitude(T x) { return x < 0 ? -x : x; }                        \
  FUNCTION T sign_of(T x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }              \
  FUNCTION T floor_divide(T a, T b) {                                         \
    /* The least number by -1 has no quotient: it wraps. */                   \
    if (b == 0 || b == -1) return b * a;                                      \
    const T quotient = a / b;                                                 \
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient; \
  }                                                                           \
  FUNCTION T remainder(T a, T b) {                                            \
    if (b == 0 || b == -1) return 0;                                          \
    const T rest = a % b;                                                     \
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;              \
  }                                                                           \
  FUNCTION T power(T a, T b) {                                                \
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;            \
    return (T)power((U)a, (U)b);                                              \
  }                                                                           \
  FUNCTION T shift_right(T a, T b) { return a >> ((U)b < WIDTH(T) ? b : WIDTH(T) - 1); }
#define UNSIGNED_FUNCTIONS(T)                                      \
  FUNCTION T magnitude(T x) { return x; }                          \
  FUNCTION T sign_of(T x) { return x != 0 ? 1 : 0; }               \
  FUNCTION T floor_divide(T a, T b) { return b == 0 ? 0 : a / b; } \
  FUNCTION T remainder(T a, T b) { return b == 0 ? 0 : a % b; }    \
  FUNCTION T power(T a, T b) {                                     \
    T result = 1;                                                  \
    for (; b != 0; b >>= 1, a *= a) result *= b & 1 ? a : 1;       \
    return result;                                                 \
  }                                                                \
  FUNCTION T shift_right(T a, T b) { return b < WIDTH(T) ? a >> b : 0; }
#define INTEGER_FUNCTIONS(T, U)                                            \
  FUNCTION T negate(T x) { return -x; }                                    \
  FUNCTION T maximum(T a, T b) { return a > b ? a : b; }                   \
  FUNCTION T minimum(T a, T b) { return a < b ? a : b; }                   \
  FUNCTION T shift_left(T a, T b) { return (U)b < WIDTH(T) ? a << b : 0; } \
  FUNCTION T bits_and(T a, T b) { return a & b; }                          \
  FUNCTION T bits_or(T a, T b) { return a | b; }                           \
  FUNCTION T bits_xor(T a, T b) { return a ^ b; }                          \
  FUNCTION T bits_not(T x) { return ~x; }                                  \
  FUNCTION T choose(bool condition, T a, T b) { return condition ? a : b; }
#define WIDTH(T) (8 * sizeof(T))
UNSIGNED_FUNCTIONS(uint)
UNSIGNED_FUNCTIONS(ulong)
SIGNED_FUNCTIONS(int, uint)
SIGNED_FUNCTIONS(long, ulong)
INTEGER_FUNCTIONS(int, uint)
INTEGER_FUNCTIONS(uint, uint)
INTEGER_FUNCTIONS(long, ulong)
INTEGER_FUNCTIONS(ulong, ulong)
FUNCTION bool bits_and(bool a, bool b) { return a && b; }
FUNCTION bool bits_or(bool a, bool b) { return a || b; }
FUNCTION bool bits_xor(bool a, bool b) { return a != b; }
FUNCTION bool bits_not(bool x) { return !x; }
FUNCTION bool choose(bool condition, bool a, bool b) { return condition ? a : b; }
