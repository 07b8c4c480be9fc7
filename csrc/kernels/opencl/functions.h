// Elementary functions on four float32. NaN goes through.

/// 1 / x for x in [1, 2], but for its last place: a division, which is rounded correctly, takes
/// several times as long.
static inline float4 inverse(float4 x) {
  const float4 near = native_recip(x);
  return fma(fma(-x, near, 1), near, near);
}
/// x * sigmoid(y) for y of the sign of x.
static inline float4 times_sigmoid(float4 x, float4 y) {
  const float4 power = exp(-fabs(y));
  // Not -infinity, which a factor of 0 would make NaN.
  const float4 above = x < 0 ? fmax(x, -FLT_MAX) * power : x;
  return x != x ? x : above * inverse(1 + power);
}

static inline float4 op_relu(float4 x) { return x < 0 ? 0 : x; }
static inline float4 op_abs(float4 x) { return fabs(x); }
static inline float4 op_neg(float4 x) { return -x; }
static inline float4 op_square(float4 x) { return x * x; }
static inline float4 op_exp(float4 x) { return exp(x); }
static inline float4 op_log(float4 x) { return log(x); }
static inline float4 op_tanh(float4 x) {
  const float4 size = fabs(x);
  const float4 z = size * size;
  float4 p = fma(z, -0.00571702141f, 0.0206505638f);
  p = fma(p, z, -0.0537434891f);
  p = fma(p, z, 0.133314908f);
  p = fma(p, z, -0.333332837f);
  const float4 power = exp(size * -2);
  const float4 far = (1 - power) * inverse(1 + power);
  return copysign(size < 0.625f ? fma(size * z, p, size) : far, x);
}
static inline float4 op_sqrt(float4 x) { return sqrt(x); }
static inline float4 op_rsqrt(float4 x) {
  const float4 scaled = x < 0x1p-100f ? x * 0x1p+64f : x;
  const float4 near = native_rsqrt(scaled);
  // One step of Newton's, with the product in two parts; 0 and infinity have none.
  const float4 product = scaled * near;
  const float4 rest = fma(scaled, near, -product);
  const float4 off = fma(-rest, near, fma(-product, near, 1));
  const float4 result = fma(0.5f * near, off, near);
  return (result == result ? result : near) * (x < 0x1p-100f ? 0x1p+32f : 1);
}
static inline float4 op_reciprocal(float4 x) { return 1 / x; }
static inline float4 op_sigmoid(float4 x) {
  const float4 power = exp(-fabs(x));
  return (x < 0 ? power : 1) * inverse(1 + power);
}
static inline float4 op_silu(float4 x) { return times_sigmoid(x, x); }
static inline float4 op_gelu_tanh(float4 x) {
  // (1 + tanh u) / 2 is sigmoid(2u); sqrt(2 / pi) and 0.044715 sqrt(2 / pi), doubled.
  return times_sigmoid(x, x * (1.5957691f + 0.071354814f * (x * x)));
}
static inline float4 op_gelu(float4 x) {
  return fmax(x, -FLT_MAX) * (0.5f * erfc(x * -0.70710678f));
}
