// What conv2d makes of its sums before it writes them.
// Around this file: params.slope, of leaky_relu; params.zero, as functions.wgsl has it.
// Variables: ACTIVATION; those of functions.wgsl.
#include "functions.wgsl"

fn activated(x: vec4<f32>) -> vec4<f32> {
#if ACTIVATION == "relu"
  return op_relu(x);
#elif ACTIVATION == "relu6"
  return select(clamp(x, splat(0.0), splat(6.0)), x, is_nan(x));
#elif ACTIVATION == "leaky_relu"
  return select(x * params.slope, x, x > splat(0.0));
#elif ACTIVATION == "hardswish"
  let factor = clamp(x + 3.0, splat(0.0), splat(6.0)) * 0.16666667;
  return select(select(x * factor, splat(0.0), x <= splat(-3.0)), x, is_nan(x));
#elif ACTIVATION == "sigmoid"
  return op_sigmoid(x);
#elif ACTIVATION == "tanh"
  return op_tanh(x);
#elif ACTIVATION == "silu"
  return op_silu(x);
#elif ACTIVATION == "gelu"
  return op_gelu(x);
#elif ACTIVATION == "gelu_tanh"
  return op_gelu_tanh(x);
#else
  return x;
#end
}
fn activated_one(x: f32) -> f32 { return activated(splat(x)).x; }
