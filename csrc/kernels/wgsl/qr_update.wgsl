// Takes off columns of matrices what qr_project has found: V times it. A workgroup for BLOCK rows
// and columns, and the rows as many below as there are workgroups.
// 0 reflectors, 1 products, 2 x.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  m: u32, columns: u32, at: u32, size: u32, count: u32, from_column: u32, first: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> reflectors: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> products: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> x: array<${NUMBER}>;
#let EACH = BLOCK / 16
var<workgroup> left: array<${NUMBER}, ${BLOCK * BLOCK}>;
var<workgroup> right: array<${NUMBER}, ${BLOCK * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  let tx = local % 16u;
  let ty = local / 16u;
  let left_column = params.from_column + group.x * ${BLOCK}u;
  for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
    let column = left_column + e % ${BLOCK}u;
    var value = ${NUMBER}();
    if (column < params.columns && e / ${BLOCK}u < params.size) {
      value = products[(matrix * ${BLOCK}u + e / ${BLOCK}u) * params.columns + column];
    }
    right[e] = value;
  }
  for (var top = params.at + group.y * ${BLOCK}u; top < params.m; top += groups.y * ${BLOCK}u) {
    for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
      let row = top + e / ${BLOCK}u;
      let k = e % ${BLOCK}u;
      var v = ${NUMBER}();
      if (row < params.m && k < params.size) {
        v = reflectors[(matrix * params.m + row) * params.count + params.at + k];
      }
      left[e] = v;
    }
    workgroupBarrier();
#for i in 0..EACH
#for j in 0..EACH
    var sum${i}_${j} = ${NUMBER}();
#end
#end
    for (var k = 0u; k < params.size; k++) {
#for i in 0..EACH
      let l${i} = left[(ty + ${16 * i}u) * ${BLOCK}u + k];
      let r${i} = right[k * ${BLOCK}u + tx + ${16 * i}u];
#end
#for i in 0..EACH
#for j in 0..EACH
      sum${i}_${j} = plus_product(sum${i}_${j}, l${i}, r${j});
#end
#end
    }
    // All that is changed is read before any of it is written: a compiler may not put a read before
    // a write that could be to the same place.
#for i in 0..EACH
#for j in 0..EACH
    let place${i}_${j} = (matrix * params.m + top + ty + ${16 * i}u) * params.columns +
                         left_column + tx + ${16 * j}u;
    let is_inside${i}_${j} = top + ty + ${16 * i}u < params.m &&
                             left_column + tx + ${16 * j}u < params.columns;
    var x${i}_${j} = ${NUMBER}();
    if (is_inside${i}_${j}) { x${i}_${j} = x[place${i}_${j}]; }
#end
#end
#for i in 0..EACH
#for j in 0..EACH
    if (is_inside${i}_${j}) { x[place${i}_${j}] = x${i}_${j} - sum${i}_${j}; }
#end
#end
    workgroupBarrier();
  }
}
