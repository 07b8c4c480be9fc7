// What products with quantised weights make of their sums, and of the norm of x.
// Around this file: params.n, params.eps, params.is_biased, params.adds, params.slope, params.zero;
// bias, and y, which `place` is in.
// Variables: T; GATED (1: rows n apart belong together, activation(first) * second is the result); NORM
// (1: x is normed), WEIGHTED (1: by a weight); ACTIVATION.
#include "activation.wgsl"

/// By which the sums of a row of k elements are multiplied.
fn scale_of_norm(squares: f32, k: u32) -> f32 { return 1.0 / sqrt(squares / f32(k) + params.eps); }

fn ended(sum: f32, second: f32, row: u32, place: u32) -> f32 {
  var result = sum;
  if (params.is_biased != 0u) { result += f32(bias[row]); }
  result = activated_one(result);
#if GATED
  var other = second;
  if (params.is_biased != 0u) { other += f32(bias[row + params.n]); }
  result *= other;
#end
  if (params.adds != 0u) { result += f32(y[place]); }
  return result;
}
