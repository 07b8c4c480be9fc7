// 1 in the status of matrices whose vectors were not orthogonal in the last sweep, where it is 0.
// 0 cosines, 1 status.
// Variables: GROUP, T.
//! T: f32 f64
//! GROUP: 64
// What one more sweep would leave is rounding.
#let LEFT = "1e-4f"
#if T == "f64"
#let LEFT = "1e-10lf"
#end

struct Params { pairs: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> cosines: array<${T}>;
@group(0) @binding(1) var<storage, read_write> status: array<i32>;
var<workgroup> largest: array<${T}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  var most = ${T}(0);
  for (var i = local; i < params.pairs; i += ${GROUP}u) {
    most = max(most, cosines[matrix * params.pairs + i]);
  }
  largest[local] = most;
  workgroupBarrier();
  if (local != 0u) { return; }
  for (var i = 0u; i < ${GROUP}u; i++) { most = max(most, largest[i]); }
  if (most > ${LEFT} && status[matrix] == 0) { status[matrix] = 1; }
}
