// Solves for a block of at most BLOCK rows of X by the lower triangle of as many rows of A, one column
// of X a work-item. Strides may be negative, modulo 2^32: then it is an upper triangle from its end.
// 0 a, 1 x; SAME: 0 x, which A is a part of.
// Variables: GROUP, SAME, T, COMPLEX.
//! SAME: 0 1
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 64
#include "numbers.wgsl"

struct Params {
  size: u32, columns: u32, first: u32,
  unit: u32, conjugate: u32,  // whether the diagonal is 1, and of A the conjugate is meant
  a_start: u32, a_row: u32, a_column: u32, a_matrix: u32,
  x_start: u32, x_row: u32, x_column: u32, x_matrix: u32,
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
var<workgroup> block: array<${NUMBER}, ${BLOCK * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let of_a = params.a_start + matrix * params.a_matrix;
  // All of it is read at a time, as all of a column is below.
#for step in 0..BLOCK * BLOCK / GROUP
  // What is missing of the block is that of a unit matrix.
  let i${step} = (local + ${step * GROUP}u) / ${BLOCK}u;
  let j${step} = local % ${BLOCK}u;
  var value${step} = of_real(select(${T}(0), ${T}(1), i${step} == j${step}));
  if (i${step} < params.size && j${step} <= i${step} &&
      !(i${step} == j${step} && params.unit == 1u)) {
    value${step} = ${A}[of_a + i${step} * params.a_row + j${step} * params.a_column];
#if COMPLEX
    if (params.conjugate == 1u) { value${step} = conjugate(value${step}); }
#end
  }
#end
#for step in 0..BLOCK * BLOCK / GROUP
  block[local + ${step * GROUP}u] = value${step};
#end
  workgroupBarrier();
  let column = group.x * ${GROUP}u + local;
  if (column >= params.columns) { return; }
  let of_x = params.x_start + matrix * params.x_matrix + column * params.x_column;
#for i in 0..BLOCK
  var x${i} = ${NUMBER}();
  if (${i}u < params.size) { x${i} = x[of_x + ${i}u * params.x_row]; }
#end
#for i in 0..BLOCK
  if (${i}u < params.size) {
#for j in 0..i
    x${i} -= product(block[${i * BLOCK + j}], x${j});
#end
    x${i} = quotient(x${i}, block[${i * BLOCK + i}]);
    x[of_x + ${i}u * params.x_row] = x${i};
  }
#end
}
