// What is largest in matrices beside their diagonal and on it, and the sum of squares: of each part
// of a matrix, which is a workgroup's.
// 0 source, 1 measures, three for each part.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  rows: u32, columns: u32, first: u32,
  triangle: u32,  // which is read: 0 all, 1 what is on the diagonal and below it, 2 above
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> measures: array<${T}>;
var<workgroup> beside: array<${BITS}, ${GROUP}>;
var<workgroup> on_it: array<${BITS}, ${GROUP}>;
var<workgroup> squares: array<${T}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let columns = params.columns;
  let base = matrix * params.rows * columns;
  // Magnitudes are in the order of their bits, NaN behind infinity.
  var largest_beside = ${BITS}(0);
  var largest_on_it = ${BITS}(0);
  var sum = ${T}(0);
  for (var e = group.x * ${GROUP}u + local; e < params.rows * columns; e += groups.x * ${GROUP}u) {
    let i = e / columns;
    let j = e % columns;
    if (params.triangle == 0u || i == j || (params.triangle == 1u) == (j < i)) {
      let value = source[base + e];
      let bits = largest_bits(value);
      if (i == j) {
        largest_on_it = larger(largest_on_it, bits);
      } else {
        largest_beside = larger(largest_beside, bits);
      }
      sum = plus_square(sum, value);
    }
  }
  beside[local] = largest_beside;
  on_it[local] = largest_on_it;
  squares[local] = sum;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) {
      beside[local] = larger(beside[local], beside[local + half]);
      on_it[local] = larger(on_it[local], on_it[local + half]);
      squares[local] += squares[local + half];
    }
    workgroupBarrier();
  }
  if (local != 0u) { return; }
  let place = 3u * (matrix * groups.x + group.x);
  measures[place] = bitcast<${T}>(beside[0]);
  measures[place + 1u] = bitcast<${T}>(on_it[0]);
  measures[place + 2u] = squares[0];
}
