// Whether matrices are diagonal by now: 0, 1 where they are not, or -1 where an element is not
// finite. A workgroup for each matrix.
// 0 a, 1 status.
// Variables: GROUP.
//! GROUP: 256

struct Params { n: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> status: array<i32>;
var<workgroup> beside: array<u32, ${GROUP}>;
var<workgroup> on_it: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  // Magnitudes are in the order of their bits, NaN behind infinity.
  var largest_beside = 0u;
  var largest_on_it = 0u;
  for (var e = local; e < n * n; e += ${GROUP}u) {
    let bits = bitcast<u32>(a[matrix * n * n + e]) & 0x7fffffffu;
    if (e / n == e % n) {
      largest_on_it = max(largest_on_it, bits);
    } else {
      largest_beside = max(largest_beside, bits);
    }
  }
  beside[local] = largest_beside;
  on_it[local] = largest_on_it;
  workgroupBarrier();
  if (local != 0u) { return; }
  for (var i = 0u; i < ${GROUP}u; i++) {
    largest_beside = max(largest_beside, beside[i]);
    largest_on_it = max(largest_on_it, on_it[i]);
  }
  var result = 0;
  if (bitcast<f32>(largest_beside) > 1e-5 * bitcast<f32>(largest_on_it)) { result = 1; }
  if (max(largest_beside, largest_on_it) >= 0x7f800000u) { result = -1; }
  status[matrix] = result;
}
