// How two partial results of a reduction become one, for float and float4; OP is sum, max or min.
#if OP_IS_sum
#define COMBINED(x, y) x + y
#define NEUTRAL 0.0f
#elif OP_IS_max
#define COMBINED(x, y) (x > y | x != x) ? x : y
#define NEUTRAL -INFINITY
#else
#define COMBINED(x, y) (x < y | x != x) ? x : y
#define NEUTRAL INFINITY
#endif
static inline float __attribute__((overloadable)) combine(float x, float y) {
  return COMBINED(x, y);
}
static inline float4 __attribute__((overloadable)) combine(float4 x, float4 y) {
  return COMBINED(x, y);
}
static inline float combine_lanes(float4 x) {
  return combine(combine(x.x, x.z), combine(x.y, x.w));
}
