// Copies of A and B, batched, whose rows are whole vec4: with zeros where they grow. A vector a
// work-item, those of A first; one that is not packed has no items.
// 0 a, 1 b, 2 packed.
// Variables: GROUP, T.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
struct Matrix {
  rows: u32, columns: u32, ld: u32, stride: u32,
  packed_rows: u32, vectors: u32, items: u32, start: u32,
}
struct Params { a: Matrix, b: Matrix }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${T}>;
@group(0) @binding(1) var<storage, read> b: array<${T}>;
@group(0) @binding(2) var<storage, read_write> packed: array<${VEC}>;
#include "range.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#include "item_of_two.wgsl"
  let line = item / matrix.vectors;
  let row = line % matrix.packed_rows;
  let column = item % matrix.vectors * 4u;
  let base = line / matrix.packed_rows * matrix.stride + row * matrix.ld + column;
  let columns = select(0u, matrix.columns, row < matrix.rows);
  var result = ${VEC}();
  if (in_a) {
#for e in 0..4
    if (column + ${e}u < columns) { result[${e}] = a[base + ${e}u]; }
#end
  } else {
#for e in 0..4
    if (column + ${e}u < columns) { result[${e}] = b[base + ${e}u]; }
#end
  }
  packed[matrix.start + item] = result;
}
