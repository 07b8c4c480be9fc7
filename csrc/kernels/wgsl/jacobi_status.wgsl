// Whether matrices are diagonal by now, of what was measured of them: the status becomes 1 where
// they are not, else 0. And below which size elements beside the diagonal are left alone in a
// sweep. A work-item for each matrix.
// 0 measures, 1 status, 2 limits.
// Variables: GROUP, T.
//! T: f32 f64
//! GROUP: 64
#let COMPLEX = 0
#include "range.wgsl"
#include "numbers.wgsl"
#let TENTH = "0.1f"
#if T == "f64"
#let TENTH = "0.1lf"
#end

struct Params { n: u32, parts: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> measures: array<${T}>;
@group(0) @binding(1) var<storage, read_write> status: array<i32>;
@group(0) @binding(2) var<storage, read_write> limits: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = item_index(group, groups, local);
  if (matrix >= params.batch || status[matrix] < 0) { return; }
  var beside = ${T}(0);
  var on_it = ${T}(0);
  var squares = ${T}(0);
  for (var part = 0u; part < params.parts; part++) {
    let place = 3u * (matrix * params.parts + part);
    beside = max(beside, measures[place]);
    on_it = max(on_it, measures[place + 1u]);
    squares += measures[place + 2u];
  }
  // Rounding leaves of each element so much of the root of the eigenvalues' mean square, and all of
  // it together is no more than sqrt(n) roundings of the matrix. To turn by less would bring
  // nothing nearer to 0 between eigenvalues that are equal.
  let rounding = ${EPSILON} * sqrt(squares / ${T}(params.n));
  // What a sweep leaves of the largest element, or below, need not be turned in it. Between equal
  // eigenvalues such rotations would be by any angle, and bring back what others made 0.
  let left = beside * min(${T}(8) * (beside / on_it), ${TENTH} * ${TENTH});
  limits[matrix] = max(left, rounding);
  status[matrix] = select(0, 1, beside > rounding);
}
