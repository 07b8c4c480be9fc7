// Scores of classes as kernels read them, and powers of them, after class_targets.wgsl. Around this
// file: params.zero, which is 0 and which no compiler knows (power_below_one.wgsl).
// Variables: T, F, PACK, VECTOR, EXACT, GROUP.
fn score(at: u32) -> ${F} {
#if VECTOR && PACK == 2
  let both = scores[at / 4u];
  return number_of(half_of(select(both.x, both.y, (at & 2u) != 0u), at));
#elif VECTOR
  return scores[at / 4u][at & 3u];
#elif PACK == 2
  return number_of(half_of(scores[at / 2u], at));
#else
  return scores[at];
#end
}
#if T == "f64"
fn lowest() -> f64 { return bitcast<f64>(0xfff0000000000000lu); }
fn power_of(x: vec4<f64>) -> vec4<f64> { return exp(x); }
fn log_of(x: f64) -> f64 { return log(x); }
/// Whether it is neither infinite nor NaN.
fn is_number(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7ff0000000000000lu) != 0x7ff0000000000000lu;
}
#else
#include "power_below_one.wgsl"
fn lowest() -> f32 { return bitcast<f32>(0xff800000u ^ params.zero); }
fn power_of(x: vec4<f32>) -> vec4<f32> { return power_below_one(x); }
fn is_number(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
#if EXACT
fn log_of(x: f32) -> f32 { return log(x); }
#else
#include "log_of_sum.wgsl"
/// Of sums: 0, from 1 on, or NaN.
fn log_of(x: f32) -> f32 { return select(log_of_sum(x), lowest(), x == 0.0); }
#end
#end
/// What to take from scores before their powers: the largest, or 0 while there is only -infinity.
fn reference_of(top: ${F}) -> ${F} { return select(top, ${F}(0.0), top == lowest()); }
/// What a sum under the maximum `top` is worth under `higher`.
fn rescale(top: ${F}, higher: ${F}) -> ${F} {
  return select(power_of(vec4<${F}>(top - higher)).x, ${F}(0.0), top == lowest());
}
