// Of a line, by its WALKERS work-items: `highest`, the largest score but for NaN, and `all`, the sum
// of the powers of what is off it, which NaN is in; with SMOOTH also `off` and `mass`, as
// class_chunk.wgsl says, of all of them. Every work-item gets them.
// Around this file: joined_tops, joined_sums, joined_off and joined_mass of the workgroup.
// Variables: GROUP, F, ROWS (1: inner is 1, so neighbours lie along a line), WALKERS (a power of two),
// HELD (1: x0 and the next ones hold all of the line), CHUNK, VECTOR, SMOOTH.
#let LINES = GROUP / WALKERS
#if ROWS
  let walker = local % ${WALKERS}u;
  let beside = local / ${WALKERS}u;
  let one_walker = 1u;
#else
  let walker = local / ${LINES}u;
  let beside = local % ${LINES}u;
  let one_walker = ${LINES}u;
#end
  let first = local - walker * one_walker;
  let line = (group.x + group.y * groups.x) * ${LINES}u + beside;
  let is_line = line < params.lines;
  let base = (line / params.inner) * params.classes * params.inner + line % params.inner;
  var picked = 0xffffffffu;
  if (is_line) { picked = target_of(line); }
  let is_kept = picked != 0xffffffffu;
  var at_target = ${F}(0.0);
  var own_weight = ${F}(0.0);
  if (is_kept) {
    at_target = score(base + picked * params.inner);
    own_weight = weight_of(picked);
  }
#if VECTOR
  let count = select(0u, params.classes / 4u, is_line);
#else
  let count = select(0u, params.classes, is_line);
#end
  let centre = select(${F}(0.0), at_target, is_number(at_target));
  var top = lowest();
  var sum = ${F}(0.0);
  var off = ${F}(0.0);
  var mass = ${F}(0.0);
#for v in 0..CHUNK
  var x${v} = vec4<${F}>(lowest());
#end
#if HELD
  let i = walker;
#include "class_chunk.wgsl"
#else
#let STEP = 4 * CHUNK * WALKERS
#if VECTOR
#let STEP = CHUNK * WALKERS
#end
  for (var i = walker; i < count; i += ${STEP}u) {
#include "class_chunk.wgsl"
  }
#end
#if WALKERS > 1
  joined_tops[local] = top;
  for (var width = ${WALKERS}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) {
      joined_tops[local] = max(joined_tops[local], joined_tops[local + width * one_walker]);
    }
  }
  workgroupBarrier();
  let highest = joined_tops[first];
  joined_sums[local] = sum * rescale(top, highest);
#if SMOOTH
  joined_off[local] = off;
  joined_mass[local] = mass;
#end
  for (var width = ${WALKERS}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) {
      joined_sums[local] += joined_sums[local + width * one_walker];
#if SMOOTH
      joined_off[local] += joined_off[local + width * one_walker];
      joined_mass[local] += joined_mass[local + width * one_walker];
#end
    }
  }
  workgroupBarrier();
  let all = joined_sums[first];
#if SMOOTH
  off = joined_off[first];
  mass = joined_mass[first];
#end
#else
  let highest = top;
  let all = sum;
#end
