// The largest element of each window, or the mean: one output a work-item, of 16 bits a word of
// them. Consecutive work-items take consecutive outputs of the last axis, so where windows meet,
// their reads are side by side, and what several read comes from the cache.
// 0 input, 1 output, 2 places where PLACES.
// Variables: GROUP, T, MAX, PLACES, ADAPTIVE, PADDED, COUNTED (0: sums are over params.divisor).
//! T: f32 f64 f16 bf16
//! MAX: 0 1
//! PLACES: 0 1
//! ADAPTIVE: constant
//! PADDED: constant
//! COUNTED: constant
//! GROUP: 256
//! only: MAX == 1 or PLACES == 0
#include "stored_floats.wgsl"
#include "range.wgsl"
#include "pool_windows.wgsl"

#let ITEM = STORED
#if MAX
// Elements by their bits, so that they are moved as they are.
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
fn divisor() -> ${F} {
#if T == "f64"
  return bitcast<f64>((u64(params.divisor_high) << 32u) | u64(params.divisor));
#else
  return bitcast<f32>(params.divisor);
#end
}
#end

#if MAX
fn pooled(o: u32) -> ${ITEM} {
#else
fn pooled(o: u32) -> ${F} {
#end
  let w = window2(o % params.out2);
  let row = o / params.out2;
  let h = window1(row % params.out1);
  let d = window0(row / params.out1 % params.out0);
  let plane = row / params.out1 / params.out0 * params.length0;
  let row_step = params.dilation1 * params.length2;
  let depth_step = params.dilation0 * params.length1 * params.length2;
  var depth_at = ((plane + d.x) * params.length1 + h.x) * params.length2 + w.x;
#if MAX
  var largest = ${LEAST};
  var key = ${ITEM}();
  var place = 0xffffffffu;
#else
  var sum = ${F}();
#end
  for (var z = 0u; z < d.y; z++) {
    var row_at = depth_at;
    for (var y = 0u; y < h.y; y++) {
      var at = row_at;
#if MAX == 0
      var row_sum = ${F}();
#end
      for (var x = 0u; x < w.y; x++) {
        let value = element(at);
#if MAX
        let own = key_of(value);
        if (own > key) {
          key = own;
          largest = value;
          place = at;
        }
#else
        row_sum += value;
#end
        at += params.dilation2;
      }
#if MAX == 0
      sum += row_sum;
#end
      row_at += row_step;
    }
    depth_at += depth_step;
  }
#if MAX
#if PLACES
  let first = plane * params.length1 * params.length2;
  places[o] = select(place - first, place, place == 0xffffffffu);
#end
  return largest;
#else
#if COUNTED
  let count = ${F}(d.z) * ${F}(h.z) * ${F}(w.z);
  return select(sum / count, ${F}(), d.y == 0u || h.y == 0u || w.y == 0u);
#else
  return sum / divisor();
#end
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if PACK == 2
  let o = item * 2u;
  if (o >= params.n) { return; }
  let low = pooled(o);
  // What lies behind the last element is another's.
  let alone = o + 1u == params.n;
  var high = low;
  if (!alone) { high = pooled(o + 1u); }
#if MAX
  let word = (low >> 16u) | (high & 0xffff0000u);
#else
  let word = word_of(low, high);
#end
  if (alone) {
    output[item] = (word & 0xffffu) | (output[item] & 0xffff0000u);
  } else {
    output[item] = word;
  }
#else
  if (item >= params.n) { return; }
  output[item] = pooled(item);
#end
}
