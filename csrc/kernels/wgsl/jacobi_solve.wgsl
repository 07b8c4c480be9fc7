// A round of Jacobi's method by blocks: sweeps over the square of each pair of blocks, which is
// written back, and the rotations of all of them. A workgroup for each pair.
// 0 a, 1 turns, 2 moved: whether there was a rotation, 3 limits: what is no larger is left as it
// is,
// 4 status: 1 of matrices that are not diagonal yet.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_side.wgsl"
#include "jacobi_turn.wgsl"

struct Params { n: u32, players: u32, round: u32, first: u32, sweeps: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> a: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> turns: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> moved: array<u32>;
@group(0) @binding(3) var<storage, read> limits: array<${T}>;
@group(0) @binding(4) var<storage, read> status: array<i32>;

fn wants_turn(first: ${T}, second: ${T}, beside: ${NUMBER}, least: ${T}, bound: ${T}) -> bool {
  return !is_zero(beside) && length_of(beside) > bound;
}
#include "jacobi_square.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  if (status[matrix] != 1) { return; }
  let n = params.n;
  let base = matrix * n * n;
  let pair = pair_of(group.x, params.round, params.players);
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let i = e / ${SIDE}u;
    let j = e % ${SIDE}u;
    let row = of_block(pair, i);
    let column = of_block(pair, j);
    var value = ${NUMBER}();
    if (row < n && column < n) { value = a[base + row * n + column]; }
    square[i * ${LD}u + j] = value;
  }
  turn_square(local, params.sweeps, ${T}(0), limits[matrix]);
  let place = matrix * (params.players / 2u) + group.x;
  let is_moved = was_turned();
  if (local == 0u) { moved[place] = select(0u, 1u, is_moved); }
  if (!is_moved) { return; }
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let i = e / ${SIDE}u;
    let j = e % ${SIDE}u;
    let row = of_block(pair, i);
    let column = of_block(pair, j);
    if (row < n && column < n) { a[base + row * n + column] = square[i * ${LD}u + j]; }
    turns[place * ${SIDE * SIDE}u + e] = basis[i * ${LD}u + j];
  }
}
