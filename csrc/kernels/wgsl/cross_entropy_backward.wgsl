// What scores change the losses of their lines by: GROUP / WALKERS lines a workgroup, each read for its
// largest and its sum, and where registers do not hold it once more.
// 0 scores, 1 targets, 2 weights, 3 gradients of losses, 4 totals, 5 result, 6 faults.
// Variables: GROUP, T, VECTOR, LONG, WEIGHTS (class_targets.wgsl), ROWS, WALKERS, HELD, CHUNK
// (class_sums.wgsl), SMOOTH (1: losses are smoothed), GRAD (1: one for all losses, 2: one for each; 0:
// it is 1), MEAN (1: losses are over the sum of params.totals totals), PAIRS (1: lines are whole words
// of 16 bits side by side).
//! T: f32 f64 f16 bf16
//! VECTOR: 0 1
//! LONG: constant
//! WEIGHTS: constant
//! ROWS: constant
//! WALKERS: constant
//! SMOOTH: constant
//! GRAD: constant
//! MEAN: constant
//! PAIRS: constant
//! HELD: as 0
//! CHUNK: as 2
//! GROUP: 256
//! only: T != "f64" or VECTOR == 0
#include "stored_floats.wgsl"
struct Params {
  lines: u32, classes: u32, inner: u32, axis: u32, name: u32, ignored: u32, ignored_high: u32,
  smoothing: u32, smoothing_high: u32, factor: u32, factor_high: u32, totals: u32, zero: u32,
}
var<immediate> params: Params;
#let ITEM = STORED
#let RESULT = STORED
#if VECTOR && PACK == 2
#let ITEM = "vec2<u32>"
#let RESULT = ITEM
#elif VECTOR
#let ITEM = "vec4<f32>"
#let RESULT = ITEM
#elif PACK == 2
#let RESULT = "atomic<u32>"
#end
@group(0) @binding(0) var<storage, read> scores: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<${STORED}>;
@group(0) @binding(3) var<storage, read> grads: array<${STORED}>;
@group(0) @binding(4) var<storage, read> totals: array<${F}>;
@group(0) @binding(5) var<storage, read_write> result: array<${RESULT}>;
@group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
#include "class_targets.wgsl"
#include "class_scores.wgsl"
var<workgroup> joined_tops: array<${F}, ${GROUP}>;
var<workgroup> joined_sums: array<${F}, ${GROUP}>;
var<workgroup> joined_off: array<${F}, ${GROUP}>;
var<workgroup> joined_mass: array<${F}, ${GROUP}>;
var<workgroup> joined_picked: array<u32, ${GROUP}>;

fn grad_of(line: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(grads[line / 2u], line));
#else
  return grads[line];
#end
}

/// The gradient of a line: powers of what scores are off `top`, times `factor`, less `less` times the
/// weights, and less `own` of the class that is picked; 0 where none is.
struct Line { top: ${F}, factor: ${F}, less: ${F}, own: ${F}, picked: u32 }

/// By four scores, of `first` and of the classes that are `step` apart.
fn slopes(x: vec4<${F}>, first: u32, step: u32, line: Line) -> vec4<${F}> {
  var found = power_of(x - vec4<${F}>(line.top)) * line.factor;
#for e in 0..4
#if SMOOTH
#if WEIGHTS
  if (first + ${e}u * step < params.classes) {
    found[${e}] -= line.less * weight_of(first + ${e}u * step);
  }
#else
  found[${e}] -= line.less;
#end
#end
  if (first + ${e}u * step == line.picked) { found[${e}] -= line.own; }
#end
  return select(found, vec4<${F}>(), vec4<bool>(line.picked == 0xffffffffu));
}
fn slope(x: ${F}, class_: u32, line: Line) -> ${F} {
  return slopes(vec4<${F}>(x), class_, 0u, line).x;
}
#if PACK == 2 && VECTOR == 0
/// Half of a word, whose other half is another's.
fn write_half(at: u32, value: f32) {
  let bits = word_of(value, value);
  let mask = select(0xffffu, 0xffff0000u, at % 2u == 1u);
  atomicAnd(&result[at / 2u], ~mask);
  atomicOr(&result[at / 2u], bits & mask);
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  var by = number(params.factor, params.factor_high);
#if MEAN
  var total = ${F}(0.0);
  for (var i = local; i < params.totals; i += ${GROUP}u) { total += totals[i]; }
  joined_off[local] = total;
  for (var width = ${GROUP}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) { joined_off[local] += joined_off[local + width]; }
  }
  workgroupBarrier();
  by = by / joined_off[0];
  workgroupBarrier();
#end
#include "class_sums.wgsl"
#if GRAD == 1
  by *= grad_of(0u);
#elif GRAD == 2
  if (is_line) { by *= grad_of(line); }
#end
  var whole = own_weight;
  var own = own_weight;
  var less = ${F}(0.0);
#if SMOOTH
  let smoothing = number(params.smoothing, params.smoothing_high);
  own = own_weight * (${F}(1.0) - smoothing);
  less = smoothing / ${F}(params.classes);
  whole = own + mass * less;
#end
  let of_line = Line(highest, by * whole / all, by * less, by * own, picked);
#if VECTOR
#if HELD
#for v in 0..CHUNK
  if (walker + ${v * WALKERS}u < count) {
    let at = walker + ${v * WALKERS}u;
    let y = slopes(x${v}, at * 4u, 1u, of_line);
#if PACK == 2
    result[base / 4u + at] = vec2<u32>(word_of(y.x, y.y), word_of(y.z, y.w));
#else
    result[base / 4u + at] = y;
#end
  }
#end
#else
  for (var at = walker; at < count; at += ${WALKERS}u) {
#if PACK == 2
    let words = scores[base / 4u + at];
    let x = vec4<f32>(number_of(words.x & 0xffffu), number_of(words.x >> 16u),
                      number_of(words.y & 0xffffu), number_of(words.y >> 16u));
    let y = slopes(x, at * 4u, 1u, of_line);
    result[base / 4u + at] = vec2<u32>(word_of(y.x, y.y), word_of(y.z, y.w));
#else
    result[base / 4u + at] = slopes(scores[base / 4u + at], at * 4u, 1u, of_line);
#end
  }
#end
#elif PACK == 1
#if HELD
#for v in 0..CHUNK
  {
    let y = slopes(x${v}, walker + ${4 * v * WALKERS}u, ${WALKERS}u, of_line);
#for e in 0..4
    if (walker + ${(4 * v + e) * WALKERS}u < count) {
      result[base + (walker + ${(4 * v + e) * WALKERS}u) * params.inner] = y[${e}];
    }
#end
  }
#end
#else
  for (var i = walker; i < count; i += ${4 * WALKERS}u) {
    var x = vec4<${F}>();
#for e in 0..4
    if (i + ${e * WALKERS}u < count) { x[${e}] = score(base + (i + ${e * WALKERS}u) * params.inner); }
#end
    let y = slopes(x, i, ${WALKERS}u, of_line);
#for e in 0..4
    if (i + ${e * WALKERS}u < count) { result[base + (i + ${e * WALKERS}u) * params.inner] = y[${e}]; }
#end
  }
#end
#elif ROWS
  // By the words that the line is in; of the first and the last one half may be another's.
  let past = select(0u, base + count, is_line);
  for (var word = base / 2u + walker; 2u * word < past; word += ${WALKERS}u) {
    let at = 2u * word;
    let bits = scores[word];
    let low = slope(number_of(bits & 0xffffu), at - base, of_line);
    let high = slope(number_of(bits >> 16u), at + 1u - base, of_line);
    if (at >= base && at + 1u < past) {
      atomicStore(&result[word], word_of(low, high));
    } else if (at >= base) {
      write_half(at, low);
    } else {
      write_half(at + 1u, high);
    }
  }
#elif PAIRS
  // Two lines side by side, of which each work-item that had one takes every other class.
  workgroupBarrier();
  if (walker == 0u) {
    joined_tops[beside] = of_line.top;
    joined_sums[beside] = of_line.factor;
    joined_off[beside] = of_line.less;
    joined_mass[beside] = of_line.own;
    joined_picked[beside] = picked;
  }
  workgroupBarrier();
  let even = beside - beside % 2u;
  let low_line = Line(joined_tops[even], joined_sums[even], joined_off[even], joined_mass[even],
                      joined_picked[even]);
  let odd = even + 1u;
  let high_line = Line(joined_tops[odd], joined_sums[odd], joined_off[odd], joined_mass[odd],
                       joined_picked[odd]);
  let start = base - beside % 2u;
  for (var i = 2u * walker + beside % 2u; i < count; i += ${2 * WALKERS}u) {
    let word = (start + i * params.inner) / 2u;
    let bits = scores[word];
    atomicStore(&result[word], word_of(slope(number_of(bits & 0xffffu), i, low_line),
                                       slope(number_of(bits >> 16u), i, high_line)));
  }
#else
  for (var i = walker; i < count; i += ${WALKERS}u) {
    let at = base + i * params.inner;
    write_half(at, slope(score(at), i, of_line));
  }
#end
}
