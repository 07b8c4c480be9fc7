// Reflects columns of matrices by the vector below the diagonal of one of x's columns: LANES columns
// a workgroup, whose other work-items walk the rows.
// 0 x, 1 factors, 2 q; SAME: 0 x, whose later columns are reflected, 1 factors.
// Variables: GROUP, SAME, T, COMPLEX.
//! SAME: 0 1
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  m: u32, n: u32, at: u32, count: u32,
  from_column: u32, columns: u32, first: u32,  // of what is reflected, the first one and how many
}
var<immediate> params: Params;
#if SAME
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> factors: array<${NUMBER}>;
#let TARGET = "x"
#else
@group(0) @binding(0) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> factors: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> q: array<${NUMBER}>;
#let TARGET = "q"
#end
#let LANES = 16
#let WALKERS = GROUP / LANES
var<workgroup> partial: array<${NUMBER}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let lane = local % ${LANES}u;
  let walker = local / ${LANES}u;
  let column = params.from_column + group.x * ${LANES}u + lane;
  let inside = column < params.columns;
  let of_x = matrix * params.m * params.n + params.at;
  let of_target = matrix * params.m * params.columns + column;
  var sum = ${NUMBER}();
  if (inside) {
    for (var row = params.at + walker; row < params.m; row += ${WALKERS}u) {
      var factor = of_real(${T}(1));
      if (row != params.at) { factor = x[of_x + row * params.n]; }
      sum = plus_product(sum, conjugate(factor), ${TARGET}[of_target + row * params.columns]);
    }
  }
  partial[local] = sum;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half >= ${LANES}u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  // Of x the columns are reflected back: by the conjugate of what Q is made with.
  var scale = factors[matrix * params.count + params.at];
#if SAME
  scale = conjugate(scale);
#end
  let by = product(partial[lane], scale);
  if (inside) {
    for (var row = params.at + walker; row < params.m; row += ${WALKERS}u) {
      var factor = of_real(${T}(1));
      if (row != params.at) { factor = x[of_x + row * params.n]; }
      ${TARGET}[of_target + row * params.columns] -= product(by, factor);
    }
  }
}
