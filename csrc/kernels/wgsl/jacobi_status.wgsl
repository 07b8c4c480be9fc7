// Whether matrices are diagonal by now: 0, 1 where they are not, or -1 where an element is not
// finite; and below which size elements beside the diagonal are left alone in a sweep. A workgroup
// for each matrix.
// 0 a, 1 status, 2 limits.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"
// Of the diagonal, what is left beside it.
#let LEFT = "1e-5f"
#let TENTH = "0.1f"
#if T == "f64"
#let LEFT = "2e-14lf"
#let TENTH = "0.1lf"
#end

struct Params { n: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> status: array<i32>;
@group(0) @binding(2) var<storage, read_write> limits: array<${T}>;
var<workgroup> beside: array<${BITS}, ${GROUP}>;
var<workgroup> on_it: array<${BITS}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  // Magnitudes are in the order of their bits, NaN behind infinity.
  var largest_beside = ${BITS}(0);
  var largest_on_it = ${BITS}(0);
  for (var e = local; e < n * n; e += ${GROUP}u) {
    let bits = largest_bits(a[matrix * n * n + e]);
    if (e / n == e % n) {
      largest_on_it = larger(largest_on_it, bits);
    } else {
      largest_beside = larger(largest_beside, bits);
    }
  }
  beside[local] = largest_beside;
  on_it[local] = largest_on_it;
  workgroupBarrier();
  if (local != 0u) { return; }
  for (var i = 0u; i < ${GROUP}u; i++) {
    largest_beside = larger(largest_beside, beside[i]);
    largest_on_it = larger(largest_on_it, on_it[i]);
  }
  // What a sweep leaves of the largest element, or below, need not be turned in it. Between equal
  // eigenvalues such rotations would be by any angle, and bring back what others made 0.
  let most_beside = bitcast<${T}>(largest_beside);
  let most_on_it = bitcast<${T}>(largest_on_it);
  limits[matrix] = most_beside * min(${T}(8) * (most_beside / most_on_it), ${TENTH} * ${TENTH});
  var result = 0;
  if (most_beside > ${LEFT} * most_on_it) { result = 1; }
  if (larger(largest_beside, largest_on_it) >= ${INFINITE}) { result = -1; }
  status[matrix] = result;
}
