// output[p] = source[p + the step of the index at p], or with SCATTER output[p + step] = source[p],
// for each p of a shape of RANK dimensions, the innermost first. One item of WORDS words a
// work-item, or EACH; of SMALL bytes (4: of words) one where the output is ATOMIC, else as many as are
// in a word of an output without gaps. An index that is outside moves nothing.
// 0 source, 1 indices, 2 output, 3 faults, with PAIR 4 the indices of a second axis, which lie as the
// first ones: the step is that of both.
// Variables: GROUP, WORDS, SMALL, ATOMIC, SCATTER, RANK, INDEX, SIGNED (index.wgsl), ALIASED (1: an
// input lies in the output's buffer), PAIR, EACH (more than 1: all that a work-item reads is asked for
// before the first of it is used), WINDOW (1: the indexed side is bound in parts, and params.steps
// steps from params.first on are of this one).
//! WORDS: 1 2 4
//! ATOMIC: 0 1
//! PAIR: 0 1
//! SMALL: constant
//! SCATTER: constant
//! RANK: constant
//! INDEX: constant
//! SIGNED: constant
//! WINDOW: constant
//! ALIASED: as 1
//! EACH: as 1
//! GROUP: 256
//! only: ATOMIC == 0 or WORDS == 1
#include "range.wgsl"
#if ALIASED
#let ACCESS = "read_write"
#else
#let ACCESS = "read"
#end
#if WORDS == 4
#let ITEM = "vec4<u32>"
#elif WORDS == 2
#let ITEM = "vec2<u32>"
#else
#let ITEM = "u32"
#end

struct Params {
  n: u32, source_start: u32, output_start: u32, index_start: u32,
  size: u32, step: u32, back: u32, axis: u32, name: u32, first: u32, steps: u32,
#for d in 0..6
  shape${d}: u32, source${d}: u32, output${d}: u32, index${d}: u32,
#end
#if PAIR
  size_b: u32, step_b: u32, back_b: u32, axis_b: u32, behind_b: u32,
#end
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, ${ACCESS}> source: array<${ITEM}>;
@group(0) @binding(1) var<storage, ${ACCESS}> indices: array<u32>;
#if ATOMIC
@group(0) @binding(2) var<storage, read_write> output: array<atomic<u32>>;
#else
@group(0) @binding(2) var<storage, read_write> output: array<${ITEM}>;
#end
@group(0) @binding(3) var<storage, read_write> faults: array<atomic<u32>>;
#if PAIR
@group(0) @binding(4) var<storage, ${ACCESS}> indices_b: array<u32>;
#end
#include "index.wgsl"

/// The step of the indices at a place.
fn step_of(at: u32) -> u32 {
  var step = step_at(at);
#if PAIR
  let step_b = step_at_b(at + params.behind_b);
  step = select(step + step_b, 0xffffffffu, step == 0xffffffffu || step_b == 0xffffffffu);
#end
#if WINDOW
  // What is before the first one wraps.
  step = select(0xffffffffu, step, step - params.first < params.steps);
#end
  return step;
}

/// From, to and index of the element at a place of the walk.
fn places_of(i: u32) -> vec3<u32> {
  var rest = i;
  var source_at = params.source_start;
  var output_at = params.output_start;
  var index = params.index_start;
#for d in 0..6
#if d < RANK
  {
    let place = select(rest % params.shape${d}, rest, ${d + 1}u == ${RANK}u);
    rest = rest / params.shape${d};
    source_at += place * params.source${d};
    output_at += place * params.output${d};
    index += place * params.index${d};
  }
#end
#end
  return vec3<u32>(source_at, output_at, index);
}

#if WORDS == 1
/// The item of SMALL bytes at a place of the source.
fn small_item(at: u32) -> u32 {
  let of_word = 4u / ${SMALL}u;
  let ones = 0xffffffffu >> (32u - 8u * ${SMALL}u);
  return (source[at / of_word] >> (at % of_word * 8u * ${SMALL}u)) & ones;
}
#end

#if ATOMIC
/// Work-items that write to one word write their bytes one after another.
fn store_small(at: u32, item: u32) {
  let of_word = 4u / ${SMALL}u;
  let word = at / of_word;
  let shift = at % of_word * 8u * ${SMALL}u;
  let ones = 0xffffffffu >> (32u - 8u * ${SMALL}u);
  var before = atomicLoad(&output[word]);
  var after = (before & ~(ones << shift)) | (item << shift);
  while (before != after) {
    if (atomicCompareExchangeWeak(&output[word], before, after).exchanged) { return; }
    before = atomicLoad(&output[word]);
    after = (before & ~(ones << shift)) | (item << shift);
  }
}
#end

#if WORDS == 1 && ATOMIC == 0
/// Word i of those that the output's items are in: nobody else writes to it.
fn fill_word(i: u32) {
  let of_word = 4u / ${SMALL}u;
  let bits = ${SMALL}u * 8u;
  let ones = 0xffffffffu >> (32u - bits);
  let word = params.output_start / of_word + i;
  // The first item of the word; where it is before all of ours it wraps.
  let first = word * of_word - params.output_start;
  var value = 0u;
  var mask = 0u;
  for (var lane = 0u; lane < of_word; lane++) {
    let item = first + lane;
    if (item < params.n) {
      let places = places_of(item);
      let step = step_of(places.z);
      if (step != 0xffffffffu) { value |= small_item(places.x + step) << (lane * bits); }
      mask |= ones << (lane * bits);
    }
  }
  if (mask == 0xffffffffu) {
    output[word] = value;
  } else if (mask != 0u) {
    output[word] = (output[word] & ~mask) | value;
  }
}
#else
fn fill_word(i: u32) {}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
#if ATOMIC
  if (i >= params.n) { return; }
  let places = places_of(i);
  let step = step_of(places.z);
  if (step == 0xffffffffu) { return; }
#if SCATTER
  store_small(places.y + step, small_item(places.x));
#else
  store_small(places.y, small_item(places.x + step));
#end
#else
#if SMALL < 4
  fill_word(i);
#elif EACH > 1
  let first = (group.x + group.y * groups.x) * ${EACH * GROUP}u + local;
#for e in 0..EACH
  let live${e} = first + ${e * GROUP}u < params.n;
  let places${e} = places_of(select(0u, first + ${e * GROUP}u, live${e}));
  let step${e} = step_of(places${e}.z);
  let moves${e} = live${e} && step${e} != 0xffffffffu;
#end
#for e in 0..EACH
  var item${e} = ${ITEM}();
#if SCATTER
  if (moves${e}) { item${e} = source[places${e}.x]; }
#else
  if (moves${e}) { item${e} = source[places${e}.x + step${e}]; }
#end
#end
#for e in 0..EACH
#if SCATTER
  if (moves${e}) { output[places${e}.y + step${e}] = item${e}; }
#else
  if (moves${e}) { output[places${e}.y] = item${e}; }
#end
#end
#else
  if (i >= params.n) { return; }
  let places = places_of(i);
  let step = step_of(places.z);
  if (step == 0xffffffffu) { return; }
#if SCATTER
  output[places.y + step] = source[places.x];
#else
  output[places.y] = source[places.x + step];
#end
#end
#end
}
