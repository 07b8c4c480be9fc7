// output[i] = value for i < n.
// 0 output.
// Variables: GROUP, T (f32 or f16). The value comes as bits, so that a NaN survives.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
#include "range.wgsl"

struct Params { n: u32, value: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> output: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i < params.n) { output[i] = ${T}(bitcast<f32>(params.value)); }
}
