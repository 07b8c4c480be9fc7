// What reflections have left on and above the diagonal, and the unit matrix that Q is made of.
// 0 x, 1 q, 2 r.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "range.wgsl"
#include "numbers.wgsl"

struct Params { m: u32, n: u32, columns: u32, of_q: u32, of_r: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> q: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> r: array<${NUMBER}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item < params.of_q) {
    let i = item / params.columns % params.m;
    q[item] = of_real(select(${T}(0), ${T}(1), i == item % params.columns));
  }
  if (item < params.of_r) {
    let j = item % params.n;
    let row = item / params.n;
    let i = row % params.columns;
    let matrix = row / params.columns;
    var value = ${NUMBER}();
    if (i <= j) { value = x[(matrix * params.m + i) * params.n + j]; }
    r[item] = value;
  }
}
