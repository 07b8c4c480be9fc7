// What each tile of 2x2 outputs sees of a channel, its patch of 4x4 pixels, as the 4x4 factors of
// Winograd's F(2x2, 3x3), factor by factor: by channel, tiles side by side. The padding and the
// tiles past the last image are zeros. A channel of a tile a work-item.
// 0 input, 1 factors.
// Variables: GROUP, T.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
struct Params {
  items: u32, columns: u32, first: u32, tiles_h: u32, tiles_w: u32,
  batch: u32, channels: u32, height: u32, width: u32, pad_h: u32, pad_w: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read_write> factors: array<f32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (item >= params.items) { return; }
  let tile = params.first + item % params.columns;
  let image = tile / (params.tiles_h * params.tiles_w);
  // Left of or above the image is a large number here.
  let top = tile / params.tiles_w % params.tiles_h * 2u - params.pad_h;
  let left = tile % params.tiles_w * 2u - params.pad_w;
  let plane = (image * params.channels + item / params.columns) * params.height;
#for r in 0..4
  var d${r} = vec4<f32>();
  if (image < params.batch && top + ${r}u < params.height) {
    let line = (plane + top + ${r}u) * params.width;
#for s in 0..4
    if (left + ${s}u < params.width) { d${r}[${s}] = f32(input[line + left + ${s}u]); }
#end
  }
#end
  let v0 = d0 - d2;
  let v1 = d1 + d2;
  let v2 = d2 - d1;
  let v3 = d1 - d3;
#for r in 0..4
  factors[${4 * r}u * params.items + item] = v${r}.x - v${r}.z;
  factors[${4 * r + 1}u * params.items + item] = v${r}.y + v${r}.z;
  factors[${4 * r + 2}u * params.items + item] = v${r}.z - v${r}.y;
  factors[${4 * r + 3}u * params.items + item] = v${r}.y - v${r}.w;
#end
}
