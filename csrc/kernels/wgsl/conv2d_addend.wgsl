// output[i] = activation(output[i] + addend[i]) for i < n: the end of a convolution whose sums the
// output has. One element a work-item.
// 0 addend, 1 output.
// Variables: GROUP, T, ACTIVATION.
//! T: f32 f16
//! GROUP: 256
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
#include "floats.wgsl"
#include "range.wgsl"
#include "activation.wgsl"

struct Params {
  n: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> addend: array<${T}>;
@group(0) @binding(1) var<storage, read_write> output: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  output[i] = ${T}(activated_one(f32(output[i]) + f32(addend[i])));
}
