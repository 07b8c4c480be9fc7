// C -= A B for parts of matrices, 64 x 64 of C a workgroup.
// 0 a, 1 x, which B and C are parts of; SAME: 0 x, which A is a part of too.
// Variables: GROUP, SAME.
//! SAME: 0 1
//! GROUP: 256

struct Params {
  rows: u32, columns: u32, depth: u32, first: u32,
  a_start: u32, a_row: u32, a_column: u32, a_matrix: u32,
  b_start: u32, b_row: u32, b_column: u32,
  c_start: u32, c_row: u32, c_column: u32, x_matrix: u32,
  lower: u32,  // whether only what is on C's diagonal and below it is wanted
}
var<immediate> params: Params;
#if SAME
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
#let A = "x"
#else
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
#let A = "a"
#end
#let DEPTH = 16
#let LD = 65
var<workgroup> left: array<f32, ${DEPTH * LD}>;
var<workgroup> right: array<f32, ${DEPTH * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  let first_row = group.y * 64u;
  let first_column = group.x * 64u;
  if (params.lower == 1u && first_row + 63u < first_column) { return; }
  let of_a = params.a_start + matrix * params.a_matrix;
  let of_b = params.b_start + matrix * params.x_matrix;
  let tx = local % 16u;
  let ty = local / 16u;
#for i in 0..4
#for j in 0..4
  var sum${i}_${j} = 0.0;
#end
#end
  for (var k = 0u; k < params.depth; k += ${DEPTH}u) {
    for (var e = local; e < ${64 * DEPTH}u; e += ${GROUP}u) {
      // Neighbours read what lies side by side.
      let along = params.a_column == 1u;
      let p = select(e / 64u, e % ${DEPTH}u, along);
      let i = select(e % 64u, e / ${DEPTH}u, along);
      let row = first_row + i;
      var value = 0.0;
      if (row < params.rows && k + p < params.depth) {
        value = ${A}[of_a + row * params.a_row + (k + p) * params.a_column];
      }
      left[p * ${LD}u + i] = value;
    }
    for (var e = local; e < ${64 * DEPTH}u; e += ${GROUP}u) {
      let along = params.b_column == 1u;
      let p = select(e % ${DEPTH}u, e / 64u, along);
      let j = select(e / ${DEPTH}u, e % 64u, along);
      let column = first_column + j;
      var value = 0.0;
      if (column < params.columns && k + p < params.depth) {
        value = x[of_b + (k + p) * params.b_row + column * params.b_column];
      }
      right[p * ${LD}u + j] = value;
    }
    workgroupBarrier();
    let depth = min(${DEPTH}u, params.depth - k);
    for (var p = 0u; p < depth; p++) {
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
  let of_c = params.c_start + matrix * params.x_matrix;
#for i in 0..4
#for j in 0..4
  {
    let row = first_row + ty + ${i * 16}u;
    let column = first_column + tx + ${j * 16}u;
    if (row < params.rows && column < params.columns && (params.lower == 0u || column <= row)) {
      x[of_c + row * params.c_row + column * params.c_column] -= sum${i}_${j};
    }
  }
#end
#end
}
