// The taps of each 3x3 filter as the 4x4 factors of Winograd's F(2x2, 3x3), factor by factor: by
// channel, filters side by side, with zeros up to `rows`. A channel of a filter a work-item.
// 0 filter, 1 factors.
// Variables: GROUP, T.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
struct Params { items: u32, filters: u32, rows: u32, channels: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> taps: array<${T}>;
@group(0) @binding(1) var<storage, read_write> factors: array<f32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (item >= params.items) { return; }
  let row = item % params.rows;
  var g0 = vec3<f32>();
  var g1 = vec3<f32>();
  var g2 = vec3<f32>();
  if (row < params.filters) {
    let at = (row * params.channels + item / params.rows) * 9u;
#for r in 0..3
    g${r} = vec3<f32>(f32(taps[at + ${3 * r}u]), f32(taps[at + ${3 * r + 1}u]), f32(taps[at + ${3 * r + 2}u]));
#end
  }
  let u0 = g0;
  let u1 = 0.5 * (g0 + g1 + g2);
  let u2 = 0.5 * (g0 - g1 + g2);
  let u3 = g2;
#for r in 0..4
  factors[${4 * r}u * params.items + item] = u${r}.x;
  factors[${4 * r + 1}u * params.items + item] = 0.5 * (u${r}.x + u${r}.y + u${r}.z);
  factors[${4 * r + 2}u * params.items + item] = 0.5 * (u${r}.x - u${r}.y + u${r}.z);
  factors[${4 * r + 3}u * params.items + item] = u${r}.z;
#end
}
