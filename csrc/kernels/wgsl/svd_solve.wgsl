// A round of the one-sided Jacobi method by blocks: the rotations that make the vectors of each
// pair of blocks more orthogonal, by sweeps over their products with each other, and put the longer
// ones in front, which takes fewer rounds. A workgroup for each pair.
// 0 grams, 1 turns, 2 moved: whether there was a rotation, 3 cosines: how far from orthogonal the
// pairs of a place were in a sweep, 4 limits: the squares of lengths that are rounding, 5 status: 1
// of matrices whose vectors are not orthogonal yet.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_side.wgsl"
#include "jacobi_turn.wgsl"
#include "svd_bounds.wgsl"

struct Params { players: u32, round: u32, first: u32, length: u32, parts: u32, sweeps: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> grams: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> turns: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> moved: array<u32>;
@group(0) @binding(3) var<storage, read_write> cosines: array<${T}>;
@group(0) @binding(4) var<storage, read> limits: array<${T}>;
@group(0) @binding(5) var<storage, read> status: array<i32>;
var<workgroup> partial: array<${T}, ${GROUP}>;
var<workgroup> ranks: array<u32, 32>;

fn wants_turn(first: ${T}, second: ${T}, beside: ${NUMBER}, least: ${T}, bound: ${T}) -> bool {
  return min(first, second) > least && length_of(beside) > bound * (sqrt(first) * sqrt(second));
}
#include "jacobi_square.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  if (status[matrix] != 1) { return; }
  let place = matrix * (params.players / 2u) + group.x;
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    var sum = ${NUMBER}();
    for (var part = 0u; part < params.parts; part++) {
      sum += grams[(place * params.parts + part) * ${SIDE * SIDE}u + e];
    }
    square[e / ${SIDE}u * ${LD}u + e % ${SIDE}u] = sum;
  }
  workgroupBarrier();
  var most = ${T}(0);
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let i = e / ${SIDE}u;
    let j = e % ${SIDE}u;
    let one = real_of(square[i * ${LD + 1}u]);
    let other = real_of(square[j * ${LD + 1}u]);
    if (i < j && min(one, other) > limits[matrix]) {
      most = max(most, length_of(square[i * ${LD}u + j]) / (sqrt(one) * sqrt(other)));
    }
  }
  partial[local] = most;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) { partial[local] = max(partial[local], partial[local + half]); }
    workgroupBarrier();
  }
  turn_square(local, params.sweeps, ${LOST}, orthogonal(params.length));
  if (local < ${SIDE}u) {
    // What is not there is 0 and last, and stays so.
    let own = max(real_of(square[local * ${LD + 1}u]), ${T}(0));
    var before = 0u;
    for (var i = 0u; i < ${SIDE}u; i++) {
      let other = max(real_of(square[i * ${LD + 1}u]), ${T}(0));
      if (other > own || (other == own && i < local)) { before += 1u; }
    }
    ranks[local] = before;
  }
  workgroupBarrier();
  let is_moved = was_turned();
  if (local == 0u) {
    moved[place] = select(0u, 1u, is_moved);
    cosines[place] = select(max(cosines[place], partial[0]), partial[0], params.round == 0u);
  }
  if (!is_moved) { return; }
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let row = place * ${SIDE}u + e / ${SIDE}u;
    turns[row * ${SIDE}u + ranks[e % ${SIDE}u]] = basis[e / ${SIDE}u * ${LD}u + e % ${SIDE}u];
  }
}
