// Filters as conv2d_matrix.wgsl reads them: by group and row, tap by tap, the depth side by side in
// vectors of eight with zeros in the last. `folded` taps are as many times the channels of one. With
// params.turned the taps come from the last to the first. A vector a work-item.
// 0 filters, 1 packed.
// Variables: GROUP.
enable f16;
#include "range.wgsl"
struct Params {
  items: u32, rows: u32, taps: u32, vectors: u32, deep: u32, folded: u32,
  group_stride: u32, row_stride: u32, deep_stride: u32, turned: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> filters: array<f16>;
@group(0) @binding(1) var<storage, read_write> packed: array<vec4<u32>>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.items) { return; }
  let first = item % params.vectors * 8u;
  let tap = item / params.vectors % params.taps * params.folded;
  let row = item / params.vectors / params.taps;
  let start = row / params.rows * params.group_stride + row % params.rows * params.row_stride;
#for e in 0..8
  var x${e} = 0.0h;
  if (first + ${e}u < params.deep * params.folded) {
    let own${e} = tap + (first + ${e}u) / params.deep;
    let from${e} = select(own${e}, params.taps * params.folded - 1u - own${e}, params.turned != 0u);
    x${e} = filters[start + (first + ${e}u) % params.deep * params.deep_stride + from${e}];
  }
#end
  packed[item] = vec4<u32>(bitcast<u32>(vec2<f16>(x0, x1)), bitcast<u32>(vec2<f16>(x2, x3)),
                           bitcast<u32>(vec2<f16>(x4, x5)), bitcast<u32>(vec2<f16>(x6, x7)));
}
