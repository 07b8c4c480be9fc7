// C -= A B for parts of matrices, SIDE x SIDE of C a workgroup.
// 0 a, 1 x, which B and C are parts of; SAME: 0 x, which A is a part of too.
// Variables: GROUP, SAME, T, COMPLEX.
//! SAME: 0 1
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  rows: u32, columns: u32, depth: u32, first: u32,
  a_start: u32, a_row: u32, a_column: u32, a_matrix: u32,
  b_start: u32, b_row: u32, b_column: u32,
  c_start: u32, c_row: u32, c_column: u32, x_matrix: u32,
  lower: u32,  // whether only what is on C's diagonal and below it is wanted
  conjugates: u32,  // 1: of A the conjugate is meant, 2: of B
}
var<immediate> params: Params;
#if SAME
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
#let A = "x"
#else
@group(0) @binding(0) var<storage, read> a: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> x: array<${NUMBER}>;
#let A = "a"
#end
// Of C a work-item, in either direction.
#let EACH = 4
#let DEPTH = 16
#if T == "f64" || COMPLEX
#let DEPTH = 8
#end
#if T == "f64" && COMPLEX
#let EACH = 2
#end
#let SIDE = 16 * EACH
#let LD = SIDE + 1
var<workgroup> left: array<${NUMBER}, ${DEPTH * LD}>;
var<workgroup> right: array<${NUMBER}, ${DEPTH * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  let first_row = group.y * ${SIDE}u;
  let first_column = group.x * ${SIDE}u;
  if (params.lower == 1u && first_row + ${SIDE - 1}u < first_column) { return; }
  let of_a = params.a_start + matrix * params.a_matrix;
  let of_b = params.b_start + matrix * params.x_matrix;
  let tx = local % 16u;
  let ty = local / 16u;
#for i in 0..EACH
#for j in 0..EACH
  var sum${i}_${j} = ${NUMBER}();
#end
#end
  for (var k = 0u; k < params.depth; k += ${DEPTH}u) {
    for (var e = local; e < ${SIDE * DEPTH}u; e += ${GROUP}u) {
      // Neighbours read what lies side by side.
      let along = params.a_column == 1u;
      let p = select(e / ${SIDE}u, e % ${DEPTH}u, along);
      let i = select(e % ${SIDE}u, e / ${DEPTH}u, along);
      let row = first_row + i;
      var value = ${NUMBER}();
      if (row < params.rows && k + p < params.depth) {
        value = ${A}[of_a + row * params.a_row + (k + p) * params.a_column];
#if COMPLEX
        if ((params.conjugates & 1u) != 0u) { value = conjugate(value); }
#end
      }
      left[p * ${LD}u + i] = value;
    }
    for (var e = local; e < ${SIDE * DEPTH}u; e += ${GROUP}u) {
      let along = params.b_column == 1u;
      let p = select(e % ${DEPTH}u, e / ${SIDE}u, along);
      let j = select(e / ${DEPTH}u, e % ${SIDE}u, along);
      let column = first_column + j;
      var value = ${NUMBER}();
      if (column < params.columns && k + p < params.depth) {
        value = x[of_b + (k + p) * params.b_row + column * params.b_column];
#if COMPLEX
        if ((params.conjugates & 2u) != 0u) { value = conjugate(value); }
#end
      }
      right[p * ${LD}u + j] = value;
    }
    workgroupBarrier();
    let depth = min(${DEPTH}u, params.depth - k);
    for (var p = 0u; p < depth; p++) {
#for i in 0..EACH
      let l${i} = left[p * ${LD}u + ty + ${i * 16}u];
      let r${i} = right[p * ${LD}u + tx + ${i * 16}u];
#end
#for i in 0..EACH
#for j in 0..EACH
      sum${i}_${j} = plus_product(sum${i}_${j}, l${i}, r${j});
#end
#end
    }
    workgroupBarrier();
  }
  let of_c = params.c_start + matrix * params.x_matrix;
  // A row of C is read before any of it is written: a compiler may not put a read before a write
  // that could be to the same place.
#for i in 0..EACH
  {
    let row = first_row + ty + ${i * 16}u;
    let place = of_c + row * params.c_row + (first_column + tx) * params.c_column;
#for j in 0..EACH
    let column${j} = first_column + tx + ${j * 16}u;
    let is_wanted${j} = row < params.rows && column${j} < params.columns &&
                        (params.lower == 0u || column${j} <= row);
    var c${j} = ${NUMBER}();
    if (is_wanted${j}) { c${j} = x[place + ${j * 16}u * params.c_column]; }
#end
#for j in 0..EACH
    if (is_wanted${j}) { x[place + ${j * 16}u * params.c_column] = c${j} - sum${i}_${j}; }
#end
  }
#end
}
