// What conv2d makes of its sums before it writes them; a constant says which. NaN goes through.
#define VALUE float
#include "functions.h"

static inline float activated(float x, float slope) {
  if (ACTIVATION == ACTIVATION_relu) return op_relu(x);
  if (ACTIVATION == ACTIVATION_relu6) return x < 0 ? 0 : x > 6 ? 6 : x;
  if (ACTIVATION == ACTIVATION_leaky_relu) return x > 0 ? x : x * slope;
  if (ACTIVATION == ACTIVATION_hardswish) {
    return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) * 0.16666667f;
  }
  if (ACTIVATION == ACTIVATION_sigmoid) return op_sigmoid(x);
  if (ACTIVATION == ACTIVATION_tanh) return op_tanh(x);
  if (ACTIVATION == ACTIVATION_silu) return op_silu(x);
  if (ACTIVATION == ACTIVATION_gelu) return op_gelu(x);
  if (ACTIVATION == ACTIVATION_gelu_tanh) return op_gelu_tanh(x);
  return x;
}
