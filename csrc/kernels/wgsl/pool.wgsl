// The largest element of each window, or the mean: an output, of 16 bits a word of them, is that of
// LANES work-items, params.across of which walk a row. Alone, consecutive work-items take consecutive
// outputs of the last axis, so where windows meet, their reads are side by side, and what several
// read comes from the cache.
// 0 input, 1 output, 2 places where PLACES.
// Variables: GROUP, T, MAX, PLACES, ADAPTIVE, PADDED, COUNTED (0: sums are over params.divisor),
// DILATED (1: windows have gaps), LANES (a power of two).
//! T: f32 f64 f16 bf16
//! MAX: 0 1
//! PLACES: 0 1
//! ADAPTIVE: constant
//! PADDED: constant
//! COUNTED: constant
//! DILATED: constant
//! LANES: constant
//! GROUP: 256
//! only: MAX == 1 or PLACES == 0
#include "stored_floats.wgsl"
#include "pool_windows.wgsl"

#include "pool_elements.wgsl"

#if MAX
var<workgroup> keys: array<${ITEM}, ${GROUP}>;
var<workgroup> first_places: array<u32, ${GROUP}>;
#else
var<workgroup> sums: array<${F}, ${GROUP}>;
#end

#if MAX
fn pooled(o: u32, local: u32, writes: bool) -> ${ITEM} {
#else
fn pooled(o: u32, local: u32) -> ${F} {
#end
  let line = o / params.out2;
  let slab = line / params.out1;
  let plane = slab / params.out0;
  let w = window2(o - line * params.out2);
  let h = window1(line - slab * params.out1);
  let d = window0(slab - plane * params.out0);
  let row_step = params.dilation1 * params.length2;
  let depth_step = params.dilation0 * params.length1 * params.length2;
  let plane_at = plane * params.length0 * params.length1 * params.length2;
  var depth_at = plane_at + (d.x * params.length1 + h.x) * params.length2 + w.x;
  var first_x = 0u;
  var first_y = 0u;
  var across = 1u;
  var down = 1u;
#if LANES > 1
  let lane = local % ${LANES}u;
  across = params.across;
  down = ${LANES}u / across;
  first_y = lane / across;
  first_x = lane - first_y * across;
#end
  let step = across * params.dilation2;
#if MAX
  var key = ${ITEM}();
  var place = 0xffffffffu;
#else
  var sum = ${F}();
#end
  for (var z = 0u; z < d.y; z++) {
    for (var y = first_y; y < h.y; y += down) {
      var at = depth_at + y * row_step + first_x * params.dilation2;
#if MAX == 0
      var row_sum = ${F}();
#end
      for (var x = first_x; x < w.y; x += across) {
        let value = element(at);
#if MAX
        let own = key_of(value);
        let is_larger = own > key;
        key = select(key, own, is_larger);
        place = select(place, at, is_larger);
#else
        row_sum += value;
#end
        at += step;
      }
#if MAX == 0
      sum += row_sum;
#end
    }
    depth_at += depth_step;
  }
#if LANES > 1
#if MAX
  keys[local] = key;
  first_places[local] = place;
  for (var width = ${LANES}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) {
      let other = keys[local + width];
      let other_place = first_places[local + width];
      if (other > key || (other == key && other_place < place)) {
        key = other;
        place = other_place;
        keys[local] = key;
        first_places[local] = place;
      }
    }
  }
#else
  sums[local] = sum;
  for (var width = ${LANES}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) {
      sum += sums[local + width];
      sums[local] = sum;
    }
  }
#end
  // Another output's stand there next.
  workgroupBarrier();
#end
#if MAX
#if PLACES
  if (writes) { places[o] = select(place - plane_at, place, place == 0xffffffffu); }
#end
  if (place == 0xffffffffu) { return ${LEAST}; }
  return element(place);
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
  let item = (group.x + group.y * groups.x) * (${GROUP}u / ${LANES}u) + local / ${LANES}u;
  // Those behind the last output walk its window as well: all meet at barriers.
  let o = min(item, (params.n - 1u) / ${PACK}u) * ${PACK}u;
  let writes = item * ${PACK}u < params.n && local % ${LANES}u == 0u;
#if LANES == 1
  if (!writes) { return; }
#end
#if PACK == 2
  // What lies behind the last element is another's.
  let alone = o + 1u == params.n;
  let next = select(o + 1u, o, alone);
#if MAX
  let low = pooled(o, local, writes);
  let high = pooled(next, local, writes);
  let word = (low >> 16u) | (high & 0xffff0000u);
#else
  let low = pooled(o, local);
  let high = pooled(next, local);
  let word = word_of(low, high);
#end
  if (!writes) { return; }
  if (alone) {
    output[item] = (word & 0xffffu) | (output[item] & 0xffff0000u);
  } else {
    output[item] = word;
  }
#else
#if MAX
  let result = pooled(o, local, writes);
#else
  let result = pooled(o, local);
#end
  if (writes) { output[item] = result; }
#end
}
