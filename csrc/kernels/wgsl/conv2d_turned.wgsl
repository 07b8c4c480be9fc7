// The gradient of a filter from pieces of it that lie by channels, then filters, then taps from the
// last to the first: their sums, in the filter's order.
// 0 pieces, 1 gradient.
// Variables: GROUP, T.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
#include "range.wgsl"
struct Params { n: u32, pieces: u32, filters: u32, channels: u32, taps: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> pieces: array<f32>;
@group(0) @binding(1) var<storage, read_write> gradient: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.n) { return; }
  let tap = item % params.taps;
  let channel = item / params.taps % params.channels;
  let plane = item / params.taps / params.channels;
  let origin = (channel * params.filters + plane) * params.taps + params.taps - 1u - tap;
  var sum = 0.0;
  for (var i = 0u; i < params.pieces; i += 1u) { sum += pieces[i * params.n + origin]; }
  gradient[item] = ${T}(sum);
}
