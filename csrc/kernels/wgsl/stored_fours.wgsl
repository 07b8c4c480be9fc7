// Four elements of keys and values as they are stored: FOUR, of which four() makes numbers; of int8
// they still want their row's scale.
// Variables: T (f32 or f16), KV (T, f16 or i8).
#if KV == "i8"
#let FOUR = "u32"
fn four(x: u32) -> vec4<f32> {
  // Bytes from 0 to 255 in the last bits of 2^23.
  let bytes = (vec4<u32>(x ^ 0x80808080u) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
  return bitcast<vec4<f32>>(bytes | vec4<u32>(0x4b000000u)) - vec4<f32>(8388736.0);
}
#elif KV == T
#if T == "f16"
#let FOUR = "vec4<f16>"
#else
#let FOUR = "vec4<f32>"
#end
fn four(x: ${FOUR}) -> vec4<f32> { return vec4<f32>(x); }
#else
#let FOUR = "vec2<u32>"
fn four(x: vec2<u32>) -> vec4<f32> { return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)); }
#end
