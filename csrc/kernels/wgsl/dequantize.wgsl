// output = the values of quantised weights, four a work-item.
// Bindings: the planes of quantized_planes.wgsl, then output.
// Variables: GROUP, T, FORMAT.
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! GROUP: 256
#include "floats.wgsl"
#include "range.wgsl"
#let WHOLE = 0
#include "quantized_planes.wgsl"

struct Params { vectors: u32 }
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read_write> output: array<${VEC}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.vectors) { return; }
  output[item] = ${VEC}(values_of(item / 8u, item % 8u));
}
