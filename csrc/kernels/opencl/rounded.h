// float32 rounded to the digits of float16 or bfloat16, to nearest even. The result is float32.
static inline float to_bfloat16(float x) {
  const uint bits = as_uint(x);
  const uint odd = (bits >> 16) & 1;
  // A NaN must not become infinity where only its upper half is kept.
  return as_float(x == x ? (bits + 0x7fff + odd) & 0xffff0000u : bits | 0x400000);
}
// `how`: 0 as it is, 1 float16, 2 bfloat16.
static inline float __attribute__((overloadable)) rounded(float x, uint how) {
  if (how == 1) return (float)(half)x;
  if (how == 2) return to_bfloat16(x);
  return x;
}
static inline float4 __attribute__((overloadable)) rounded(float4 x, uint how) {
  return (float4)(rounded(x.x, how), rounded(x.y, how), rounded(x.z, how), rounded(x.w, how));
}
