// Elementary functions on VALUEs, float or vectors of it. NaN goes through.

/// 1 / x for x in [1, 2], but for its last place: a division, which is rounded correctly, takes
/// several times as long. A processor's own inverse has 11 bits.
static inline VALUE inverse(VALUE x) {
  const VALUE near = native_recip(x);
  const VALUE off = fma(-x, near, 1);
  return fma(fma(off, off, off), near, near);
}
/// x * sigmoid(y) for y of the sign of x.
static inline VALUE times_sigmoid(VALUE x, VALUE y) {
  const VALUE power = exp(-fabs(y));
  // Not -infinity, which a factor of 0 would make NaN.
  const VALUE above = x < 0 ? fmax(x, -FLT_MAX) * power : x;
  return x != x ? x : above * inverse(1 + power);
}

static inline VALUE op_relu(VALUE x) { return x < 0 ? 0 : x; }
static inline VALUE op_abs(VALUE x) { return fabs(x); }
static inline VALUE op_neg(VALUE x) { return -x; }
static inline VALUE op_square(VALUE x) { return x * x; }
static inline VALUE op_exp(VALUE x) { return exp(x); }
static inline VALUE op_log(VALUE x) { return log(x); }
static inline VALUE op_tanh(VALUE x) {
  const VALUE size = fabs(x);
  const VALUE z = size * size;
  VALUE p = fma(z, -0.00571702141f, 0.0206505638f);
  p = fma(p, z, -0.0537434891f);
  p = fma(p, z, 0.133314908f);
  p = fma(p, z, -0.333332837f);
  const VALUE power = exp(size * -2);
  const VALUE far = (1 - power) * inverse(1 + power);
  return copysign(size < 0.625f ? fma(size * z, p, size) : far, x);
}
static inline VALUE op_sqrt(VALUE x) { return sqrt(x); }
static inline VALUE op_rsqrt(VALUE x) {
  const VALUE scaled = x < 0x1p-100f ? x * 0x1p+64f : x;
  const VALUE near = native_rsqrt(scaled);
  // Two terms of the series of what is off, with the product in two parts: a processor's own root
  // has 11 bits. 0 and infinity have none.
  const VALUE product = scaled * near;
  const VALUE rest = fma(scaled, near, -product);
  const VALUE off = fma(-rest, near, fma(-product, near, 1));
  const VALUE result = fma(near * off, fma(off, 0.375f, 0.5f), near);
  return (result == result ? result : near) * (x < 0x1p-100f ? 0x1p+32f : 1);
}
static inline VALUE op_reciprocal(VALUE x) { return 1 / x; }
static inline VALUE op_sigmoid(VALUE x) {
  const VALUE power = exp(-fabs(x));
  return (x < 0 ? power : 1) * inverse(1 + power);
}
static inline VALUE op_silu(VALUE x) { return times_sigmoid(x, x); }
static inline VALUE op_gelu_tanh(VALUE x) {
  // (1 + tanh u) / 2 is sigmoid(2u); sqrt(2 / pi) and 0.044715 sqrt(2 / pi), doubled.
  return times_sigmoid(x, x * (1.5957691f + 0.071354814f * (x * x)));
}
static inline VALUE op_gelu(VALUE x) { return fmax(x, -FLT_MAX) * (0.5f * erfc(x * -0.70710678f)); }
