// Four neighbours of an array at a time, as float32, and what is left at its end.
#define FOURS_OF(type)                                                                           \
  static inline float4 __attribute__((overloadable)) load_four(global const type* x, uint i) {   \
    return convert(((global const FOUR(type)*)x)[i], float4);                                    \
  }                                                                                              \
  static inline void __attribute__((overloadable)) store_four(global type* x, uint i,            \
                                                              float4 value) {                    \
    ((global FOUR(type)*)x)[i] = convert(value, FOUR(type));                                     \
  }                                                                                              \
  /* Of the `left` elements, less than four, that vector i still has. */                         \
  static inline float4 __attribute__((overloadable)) load_rest(global const type* x, uint i,     \
                                                               uint left) {                      \
    float4 value = 0;                                                                            \
    value.x = x[4 * i];                                                                          \
    if (left > 1) value.y = x[4 * i + 1];                                                        \
    if (left > 2) value.z = x[4 * i + 2];                                                        \
    return value;                                                                                \
  }                                                                                              \
  static inline void __attribute__((overloadable)) store_rest(global type* x, uint i, uint left, \
                                                              float4 value) {                    \
    x[4 * i] = (type)value.x;                                                                    \
    if (left > 1) x[4 * i + 1] = (type)value.y;                                                  \
    if (left > 2) x[4 * i + 2] = (type)value.z;                                                  \
  }
FOURS_OF(f32)
FOURS_OF(f16)

/// The sum of its elements.
static inline float __attribute__((overloadable)) across(float4 x) {
  return (x.x + x.y) + (x.z + x.w);
}
static inline float __attribute__((overloadable)) across(float x) { return x; }

/// sum + x . y
static inline float __attribute__((overloadable)) dot_plus(float4 x, float4 y, float sum) {
  return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, fma(x.x, y.x, sum))));
}
static inline float __attribute__((overloadable)) dot_plus(float x, float y, float sum) {
  return fma(x, y, sum);
}
