// What poolings read and write: ITEM, for the largest the bits of elements, so that they are moved as
// they are.
// Variables: T, MAX, PLACES.
#let ITEM = STORED
#if MAX
#let ITEM = "u32"
#let INFINITE = "0x7f800000u"
#let ALL_BUT_SIGN = "0x7fffffffu"
#let SIGN = "0x80000000u"
#let LEAST = "0xff800000u"
#let LAST = "0xffffffffu"
#if T == "f64"
#let ITEM = "u64"
#let INFINITE = "0x7ff0000000000000lu"
#let ALL_BUT_SIGN = "0x7ffffffffffffffflu"
#let SIGN = "0x8000000000000000lu"
#let LEAST = "0xfff0000000000000lu"
#let LAST = "0xfffffffffffffffflu"
#elif T == "f16"
#let INFINITE = "0x7c000000u"
#let LEAST = "0xfc000000u"
#end
#end
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> output: array<${ITEM}>;
#if PLACES
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
#end

#if MAX
/// Unsigned numbers in the order of the elements, above 0, those of NaN last.
fn key_of(bits: ${ITEM}) -> ${ITEM} {
  let size = bits & ${ALL_BUT_SIGN};
  let key = select(bits | ${SIGN}, ${SIGN} - size, bits > ${SIGN});
  return select(key, ${LAST}, size > ${INFINITE});
}
/// Of 16 bits those above the others.
fn element(at: u32) -> ${ITEM} {
#if PACK == 2
  return half_of(input[at / 2u], at) << 16u;
#else
  return input[at];
#end
}
#else
fn element(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(input[at / 2u], at));
#else
  return input[at];
#end
}
#include "pool_divisor.wgsl"
#end
