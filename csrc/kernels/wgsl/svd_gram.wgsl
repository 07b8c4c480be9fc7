// The products of all vectors of pairs of blocks, each with the conjugate of each, over a part of
// their elements. A workgroup for each pair and part.
// 0 x, 1 status, 2 grams.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_side.wgsl"

struct Params {
  count: u32, players: u32, round: u32, first: u32, length: u32, width: u32, part: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> status: array<i32>;
@group(0) @binding(2) var<storage, read_write> grams: array<${NUMBER}>;
#let LD = SIDE + 1
#let EACH = SIDE / 16
// Steps along the elements that are written out: software devices end loops of many turns, and more
// of complex numbers do not stay in Intel's registers.
#let STEPS = SIDE
#if T == "f32" && COMPLEX
#let STEPS = 4
#end
var<workgroup> tile: array<${NUMBER}, ${SIDE * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  if (status[matrix] != 1) { return; }
  let pair = pair_of(group.x, params.round, params.players);
  let end = min(params.length, (group.y + 1u) * params.part);
  let tx = local % 16u;
  let ty = local / 16u;
#for y in 0..EACH
#for x in 0..EACH
  var sum${y}_${x} = ${NUMBER}();
#end
#end
  for (var start = group.y * params.part; start < end; start += ${SIDE}u) {
    for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
      let vector = of_block(pair, e / ${SIDE}u);
      let place = start + e % ${SIDE}u;
      var value = ${NUMBER}();
      if (vector < params.count && place < end) {
        value = x[(matrix * params.count + vector) * params.width + place];
      }
      tile[e / ${SIDE}u * ${LD}u + e % ${SIDE}u] = value;
    }
    workgroupBarrier();
    // A bound that compilers do not know: they write out a loop of few turns by themselves.
    let reach = min(${SIDE}u, end - start);
    for (var from_k = 0u; from_k < reach; from_k += ${STEPS}u) {
#for k in 0..STEPS
      {
#for y in 0..EACH
        let l${y} = conjugate(tile[(ty + ${16 * y}u) * ${LD}u + from_k + ${k}u]);
        let r${y} = tile[(tx + ${16 * y}u) * ${LD}u + from_k + ${k}u];
#end
#for y in 0..EACH
#for x in 0..EACH
        sum${y}_${x} = plus_product(sum${y}_${x}, l${y}, r${x});
#end
#end
      }
#end
    }
    workgroupBarrier();
  }
  let pairs = params.players / 2u;
  let into = ((matrix * pairs + group.x) * groups.y + group.y) * ${SIDE * SIDE}u;
#for y in 0..EACH
#for x in 0..EACH
  grams[into + (ty + ${16 * y}u) * ${SIDE}u + tx + ${16 * x}u] = sum${y}_${x};
#end
#end
}
