// A maximum and a sum of e^(x - maximum) that go on as x come in.

/// NaN stays.
static inline float larger(float x, float y) { return (x > y | x != x) ? x : y; }
/// What to take from x before exp: the maximum, or 0 while there is only -infinity.
static inline float reference_of(float top) { return top == -INFINITY ? 0 : top; }
/// What a sum under the maximum `top` is worth under `higher`.
static inline float rescale(float top, float higher) {
  return top == -INFINITY ? 0 : exp(top - higher);
}
