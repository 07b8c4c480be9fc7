// Reflects columns of matrices by the vector below the diagonal of one of x's columns: LANES columns
// a workgroup, whose other work-items walk the rows.
// 0 x, 1 factors, 2 q; SAME: 0 x, whose later columns are reflected, 1 factors.
// Variables: GROUP, SAME.
//! SAME: 0 1
//! GROUP: 256

struct Params {
  m: u32, n: u32, at: u32, count: u32,
  from_column: u32, columns: u32, first: u32,  // of what is reflected, the first one and how many
}
var<immediate> params: Params;
#if SAME
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> factors: array<f32>;
#let TARGET = "x"
#else
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> factors: array<f32>;
@group(0) @binding(2) var<storage, read_write> q: array<f32>;
#let TARGET = "q"
#end
#let LANES = 16
#let WALKERS = GROUP / LANES
var<workgroup> partial: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let lane = local % ${LANES}u;
  let walker = local / ${LANES}u;
  let column = params.from_column + group.x * ${LANES}u + lane;
  let inside = column < params.columns;
  let of_x = matrix * params.m * params.n + params.at;
  let of_target = matrix * params.m * params.columns + column;
  var sum = 0.0;
  if (inside) {
    for (var row = params.at + walker; row < params.m; row += ${WALKERS}u) {
      var factor = 1.0;
      if (row != params.at) { factor = x[of_x + row * params.n]; }
      sum = fma(factor, ${TARGET}[of_target + row * params.columns], sum);
    }
  }
  partial[local] = sum;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half >= ${LANES}u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  let by = partial[lane] * factors[matrix * params.count + params.at];
  if (inside) {
    for (var row = params.at + walker; row < params.m; row += ${WALKERS}u) {
      var factor = 1.0;
      if (row != params.at) { factor = x[of_x + row * params.n]; }
      ${TARGET}[of_target + row * params.columns] -= by * factor;
    }
  }
}
