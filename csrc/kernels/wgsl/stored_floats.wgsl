// Floats as they lie in memory: STORED is what an array of them has, of 16 bits two of them in a
// word, PACK of them. They are computed in F.
// Variables: T (f32, f64, f16 or bf16).
#let F = "f32"
#let STORED = "f32"
#let PACK = 1
#if T == "f64"
#let F = "f64"
#let STORED = "f64"
#elif T != "f32"
#let STORED = "u32"
#let PACK = 2
fn half_of(word: u32, i: u32) -> u32 { return (word >> (i % 2u * 16u)) & 0xffffu; }
#if T == "f16"
#include "round_half.wgsl"
fn number_of(bits: u32) -> f32 { return unpack2x16float(bits).x; }
fn word_of(low: f32, high: f32) -> u32 {
  let bits = half_bits(vec4<f32>(low, high, 0.0, 0.0));
  return bits.x | (bits.y << 16u);
}
#else
fn number_of(bits: u32) -> f32 { return bitcast<f32>(bits << 16u); }
fn word_of(low: f32, high: f32) -> u32 {
  let bits = bitcast<vec2<u32>>(vec2<f32>(low, high));
  let odd = (bits >> vec2<u32>(16u)) & vec2<u32>(1u);
  let is_nan = (bits & vec2<u32>(0x7fffffffu)) > vec2<u32>(0x7f800000u);
  let rounded = select(bits + vec2<u32>(0x7fffu) + odd, bits | vec2<u32>(0x400000u), is_nan);
  return (rounded.x >> 16u) | (rounded.y & 0xffff0000u);
}
#end
#end
