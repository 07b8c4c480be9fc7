// Planes of quantised weights, which tilewright/quantized.hpp lays out, from binding 0 on; NEXT is the
// binding behind them. q of a group's elements is read as its vector j of four, 0 to 7.
// HALVES is 1 where each half of a group has a scale of its own.
// Variables: FORMAT, WHOLE (1: the words of a group are read at once).
#let LOW = 4
#let HIGH = 0
#let BIAS = 0
#let OUTER = 0
#let MINIMA = 0
#let HALVES = 0
#if FORMAT == "q8_0"
#let LOW = 8
#let BIAS = 128
#elif FORMAT == "q4_0"
#let BIAS = 8
#elif FORMAT == "q4_1"
#let MINIMA = 1
#elif FORMAT == "q5_0"
#let HIGH = 1
#let BIAS = 16
#elif FORMAT == "q5_1"
#let HIGH = 1
#let MINIMA = 1
#elif FORMAT == "q2_k"
#let HALVES = 1
#let LOW = 2
#let OUTER = 1
#let MINIMA = 1
#elif FORMAT == "q3_k"
#let HALVES = 1
#let LOW = 2
#let HIGH = 1
#let OUTER = 1
#let BIAS = 4
#elif FORMAT == "q4_k"
#let OUTER = 1
#let MINIMA = 1
#elif FORMAT == "q5_k"
#let HIGH = 1
#let OUTER = 1
#let MINIMA = 1
#elif FORMAT == "q6_k"
#let HALVES = 1
#let HIGH = 2
#let OUTER = 1
#let BIAS = 32
#elif FORMAT == "mxfp4"
#let BIAS = 128
#end
#let PLACE = 255
#if HIGH == 0 && LOW == 4 && FORMAT != "mxfp4"
#let PLACE = 15
#elif HIGH == 0 && LOW == 2
#let PLACE = 3
#end
#let NEXT = 1
#let LOWS = "u32"
#let HIGHS = "u32"
#if WHOLE
#let LOWS = "vec4<u32>"
#if LOW == 2
#let LOWS = "vec2<u32>"
#end
#if HIGH == 2
#let HIGHS = "vec2<u32>"
#end
#end
@group(0) @binding(0) var<storage, read> low_plane: array<${LOWS}>;
#if HIGH > 0
@group(0) @binding(${NEXT}) var<storage, read> high_plane: array<${HIGHS}>;
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read> scale_plane: array<u32>;
#let NEXT = NEXT + 1
#if OUTER
@group(0) @binding(${NEXT}) var<storage, read> outer_plane: array<u32>;
#let NEXT = NEXT + 1
#end

/// What q is multiplied by in a half of a group, and what is added then; of mxfp4 two factors, of
/// which neither is too small for any device.
fn scale_of(g: u32, half: u32) -> vec2<f32> {
#if FORMAT == "q4_1" || FORMAT == "q5_1"
  return unpack2x16float(scale_plane[g]);
#elif FORMAT == "q4_k" || FORMAT == "q5_k" || FORMAT == "q2_k"
  let outer = unpack2x16float(outer_plane[g / 8u]);
#if FORMAT == "q2_k"
  let both = scale_plane[g / 2u] >> (g % 2u * 16u + half * 8u);
  return vec2<f32>(outer.x * f32(both & 15u), -(outer.y * f32((both >> 4u) & 15u)));
#else
  let both = scale_plane[g / 2u] >> (g % 2u * 16u);
  return vec2<f32>(outer.x * f32(both & 255u), -(outer.y * f32((both >> 8u) & 255u)));
#end
#elif FORMAT == "q3_k" || FORMAT == "q6_k"
  let outer = unpack2x16float(outer_plane[g / 16u] >> (g / 8u % 2u * 16u)).x;
  let inner = (scale_plane[g / 2u] >> (g % 2u * 16u + half * 8u)) & 255u;
  return vec2<f32>(outer * (f32(inner ^ 128u) - 128.0), 0.0);
#elif FORMAT == "mxfp4"
  let exponent = (scale_plane[g / 4u] >> (g % 4u * 8u)) & 255u;
  let first = exponent / 2u;
  return vec2<f32>(bitcast<f32>((first + 63u) << 23u),
                   bitcast<f32>((exponent - first + 63u) << 23u));
#else
  return vec2<f32>(unpack2x16float(scale_plane[g / 2u] >> (g % 2u * 16u)).x, 0.0);
#end
}

#if FORMAT == "mxfp4"
/// Of places, a byte each, their values and BIAS.
fn values_of_places(places: u32) -> u32 {
  let size = places & 0x07070707u;
  let large = (size >> 2u) & 0x01010101u;
  let largest = large & (size >> 1u) & size;
  let negative = (places >> 3u) & 0x01010101u;
  let value = size + (size & (large * 3u)) + largest * 2u;
  return (value + 0x80808080u - negative) ^ (negative * 255u);
}
#end

/// A byte less its bias, exactly, by the bits of 2^23 and the byte: GPUs convert integers at a part of
/// the speed of sums.
fn number_of(byte: u32) -> f32 { return bitcast<f32>(byte | 0x4b000000u) - ${8388608 + BIAS}.0; }

/// Four bytes that hold q and its bias.
fn numbers_of(bytes: u32) -> vec4<f32> {
#if FORMAT == "mxfp4"
  let q = values_of_places(bytes);
#else
  let q = bytes;
#end
  return vec4<f32>(number_of(q & 255u), number_of((q >> 8u) & 255u), number_of((q >> 16u) & 255u),
                   number_of(q >> 24u));
}

/// The same as numbers_of() of what places_of() gives, but for the factors 1, 256, 1 and 256, so that
/// no byte is moved but by half a word.
fn scaled_numbers_of(places: u32) -> vec4<f32> {
#if FORMAT == "mxfp4"
  let q = values_of_places(places);
#else
  let q = places;
#end
  let upper = q >> 16u;
  let near = vec2<u32>(q & ${PLACE}u, upper & ${PLACE}u);
  let far = vec2<u32>(q & ${256 * PLACE}u, upper & ${256 * PLACE}u);
  let one = bitcast<vec2<f32>>(near | vec2<u32>(0x4b000000u)) - ${8388608 + BIAS}.0;
  let other = bitcast<vec2<f32>>(far | vec2<u32>(0x4b000000u)) - ${8388608 + 256 * BIAS}.0;
  return vec4<f32>(one.x, other.x, one.y, other.y);
}
const unscaled = vec4<f32>(1.0, 0.00390625, 1.0, 0.00390625);

#if !WHOLE
/// The words that vector j of a group is in.
fn low_word(g: u32, j: u32) -> u32 {
#if LOW == 8
  return low_plane[8u * g + j];
#elif LOW == 4
  return low_plane[4u * g + j % 4u];
#else
  return low_plane[2u * g + j / 4u];
#end
}
fn high_word(g: u32, j: u32) -> u32 {
#if HIGH == 1
  return high_plane[g];
#elif HIGH == 2
  return high_plane[2u * g + j / 4u];
#else
  return 0u;
#end
}
#end
/// q of vector j, a byte each, of its words; above it there may be other bits where PLACE is less
/// than a byte.
fn places_of(low: u32, high: u32, j: u32) -> u32 {
#if LOW < 8 && HIGH == 0 && FORMAT != "mxfp4"
#if LOW == 4
  return low >> (j / 4u * 4u);
#else
  return low >> (j % 4u * 2u);
#end
#else
  return bytes_of(low, high, j);
#end
}
/// q of vector j, a byte each, of its words.
fn bytes_of(low: u32, high: u32, j: u32) -> u32 {
#if LOW == 8
  return low;
#else
#if LOW == 4
  let q = (low >> (j / 4u * 4u)) & 0x0f0f0f0fu;
#else
  let q = (low >> (j % 4u * 2u)) & 0x03030303u;
#end
#if HIGH == 1
  return q | (((high >> j) & 0x01010101u) << ${LOW}u);
#elif HIGH == 2
  return q | (((high >> (j % 4u * 2u)) & 0x03030303u) << ${LOW}u);
#else
  return q;
#end
#end
}

#if !WHOLE
/// The values of vector j of a group.
fn values_of(g: u32, j: u32) -> vec4<f32> {
  let q = numbers_of(bytes_of(low_word(g, j), high_word(g, j), j));
  let scale = scale_of(g, j / 4u);
#if FORMAT == "mxfp4"
  return (q * scale.x) * scale.y;
#elif MINIMA
  return fma(q, vec4<f32>(scale.x), vec4<f32>(scale.y));
#else
  return q * scale.x;
#end
}
#end
