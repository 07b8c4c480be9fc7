// C = alpha A B + beta C in float64, 64 x 64 of C a workgroup, A and B by their strides along m or n
// and along k, of which a launch takes a part: software devices end loops of more turns.
// 0 a, 1 b, 2 c.
// Variables: GROUP.
//! GROUP: 256

struct Params {
  m: u32, n: u32, k: u32, first: u32,
  a_row: u32, a_deep: u32, a_stride: u32, b_deep: u32, b_column: u32, b_stride: u32,
  ldc: u32, stride_c: u32, from_k: u32,
  alpha: f32, beta: f32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f64>;
@group(0) @binding(1) var<storage, read> b: array<f64>;
@group(0) @binding(2) var<storage, read_write> c: array<f64>;
#include "beta.wgsl"
#let DEPTH = 8
#let LD = 65
var<workgroup> left: array<f64, ${DEPTH * LD}>;
var<workgroup> right: array<f64, ${DEPTH * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let batch = params.first + group.z;
  let first_row = group.y * 64u;
  let first_column = group.x * 64u;
  let of_a = batch * params.a_stride;
  let of_b = batch * params.b_stride;
  let tx = local % 16u;
  let ty = local / 16u;
#for i in 0..4
#for j in 0..4
  var sum${i}_${j} = f64(0);
#end
#end
  for (var k = params.from_k; k < params.k; k += ${DEPTH}u) {
#for step in 0..2
    {
      // Neighbours read what lies side by side.
      let e = local + ${step * GROUP}u;
      let along = params.a_deep == 1u;
      let p = select(e / 64u, e % ${DEPTH}u, along);
      let i = select(e % 64u, e / ${DEPTH}u, along);
      let row = first_row + i;
      var value = f64(0);
      if (row < params.m && k + p < params.k) {
        value = a[of_a + row * params.a_row + (k + p) * params.a_deep];
      }
      left[p * ${LD}u + i] = value;
    }
    {
      let e = local + ${step * GROUP}u;
      let along = params.b_column == 1u;
      let p = select(e % ${DEPTH}u, e / 64u, along);
      let j = select(e / ${DEPTH}u, e % 64u, along);
      let column = first_column + j;
      var value = f64(0);
      if (column < params.n && k + p < params.k) {
        value = b[of_b + (k + p) * params.b_deep + column * params.b_column];
      }
      right[p * ${LD}u + j] = value;
    }
#end
    workgroupBarrier();
    for (var p = 0u; p < ${DEPTH}u; p++) {
#for i in 0..4
      let l${i} = left[p * ${LD}u + ty + ${i * 16}u];
      let r${i} = right[p * ${LD}u + tx + ${i * 16}u];
#end
#for i in 0..4
#for j in 0..4
      sum${i}_${j} = fma(l${i}, r${j}, sum${i}_${j});
#end
#end
    }
    workgroupBarrier();
  }
  let alpha = f64(params.alpha);
  let beta = f64(params.beta);
#for i in 0..4
#for j in 0..4
  {
    let row = first_row + ty + ${i * 16}u;
    let column = first_column + tx + ${j * 16}u;
    if (row < params.m && column < params.n) {
      let at = batch * params.stride_c + row * params.ldc + column;
      var result = alpha * sum${i}_${j};
      if (adds_c()) { result = fma(beta, c[at], result); }
      c[at] = result;
    }
  }
#end
#end
}
