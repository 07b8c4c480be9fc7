// Complex numbers of V, and the scale that launches give.
// Around this file: params. Variables: T (f32 or f64), V.
#include "fft_circle.wgsl"
fn times(a: ${V}, b: ${V}) -> ${V} {
  return ${V}(fma(a.x, b.x, -a.y * b.y), fma(a.x, b.y, a.y * b.x));
}
fn place(i: u32) -> u32 { return i + i / 16u; }
#if T == "f64"
fn scale() -> f64 {
  return bitcast<f64>((u64(params.scale_high) << 32u) | u64(params.scale));
}
#else
fn scale() -> f32 { return bitcast<f32>(params.scale); }
#end
