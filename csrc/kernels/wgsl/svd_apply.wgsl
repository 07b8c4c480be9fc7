// Applies the rotations of a round to the vectors, and to the rotations collected behind them. A
// workgroup for each pair of blocks and SIDE elements.
// 0 turns, 1 moved, 2 status, 3 x.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_side.wgsl"

struct Params { count: u32, players: u32, round: u32, first: u32, width: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> turns: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> moved: array<u32>;
@group(0) @binding(2) var<storage, read> status: array<i32>;
@group(0) @binding(3) var<storage, read_write> x: array<${NUMBER}>;
#let LD = SIDE + 1
#let EACH = SIDE / 16
var<workgroup> tile: array<${NUMBER}, ${SIDE * LD}>;
var<workgroup> turn: array<${NUMBER}, ${SIDE * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  let place = matrix * (params.players / 2u) + group.x;
  if (status[matrix] != 1 || moved[place] == 0u) { return; }
  let pair = pair_of(group.x, params.round, params.players);
  let base = matrix * params.count * params.width;
  let tx = local % 16u;
  let ty = local / 16u;
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    turn[e / ${SIDE}u * ${LD}u + e % ${SIDE}u] = turns[place * ${SIDE * SIDE}u + e];
  }
  for (var start = group.y * ${SIDE}u; start < params.width; start += groups.y * ${SIDE}u) {
    for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
      let vector = of_block(pair, e / ${SIDE}u);
      let element = start + e % ${SIDE}u;
      var value = ${NUMBER}();
      if (vector < params.count && element < params.width) {
        value = x[base + vector * params.width + element];
      }
      tile[e / ${SIDE}u * ${LD}u + e % ${SIDE}u] = value;
    }
    workgroupBarrier();
#for y in 0..EACH
#for x in 0..EACH
    var sum${y}_${x} = ${NUMBER}();
#end
#end
#for k in 0..SIDE
    {
#for y in 0..EACH
      let l${y} = turn[${k * LD}u + ty + ${16 * y}u];
      let r${y} = tile[${k * LD}u + tx + ${16 * y}u];
#end
#for y in 0..EACH
#for x in 0..EACH
      sum${y}_${x} = plus_product(sum${y}_${x}, l${y}, r${x});
#end
#end
    }
#end
#for y in 0..EACH
#for x in 0..EACH
    {
      let vector = of_block(pair, ty + ${16 * y}u);
      let element = start + tx + ${16 * x}u;
      if (vector < params.count && element < params.width) {
        x[base + vector * params.width + element] = sum${y}_${x};
      }
    }
#end
#end
    workgroupBarrier();
  }
}
