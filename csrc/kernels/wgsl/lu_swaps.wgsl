// Exchanges the rows of matrices beside a panel as its pivots say, one column a work-item.
// 0 x, 1 pivots.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 64
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> pivots: array<u32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  var column = group.x * ${GROUP}u + local;
  if (column >= n - params.size) { return; }
  if (column >= params.at) { column += params.size; }
  let base = matrix * n * n + column;
  for (var k = params.at; k < params.at + params.size; k++) {
    let other = pivots[matrix * n + k];
    if (other != k) {
      let value = x[base + k * n];
      x[base + k * n] = x[base + other * n];
      x[base + other * n] = value;
    }
  }
}
