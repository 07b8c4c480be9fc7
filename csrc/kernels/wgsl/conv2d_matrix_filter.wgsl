// Filters as conv2d_matrix.wgsl reads them: by group and row, tap by tap, the depth side by side in
// vectors of eight with zeros in the last. With params.turned the taps come from the last to the
// first. A vector a work-item.
// 0 filters, 1 packed.
// Variables: GROUP.
enable f16;
#include "range.wgsl"
struct Params {
  items: u32, rows: u32, taps: u32, vectors: u32, deep: u32,
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
  let deep = item % params.vectors * 8u;
  var tap = item / params.vectors % params.taps;
  let row = item / params.vectors / params.taps;
  if (params.turned != 0u) { tap = params.taps - 1u - tap; }
  let start = row / params.rows * params.group_stride + row % params.rows * params.row_stride +
              deep * params.deep_stride + tap;
#for e in 0..8
  var x${e} = 0.0h;
  if (deep + ${e}u < params.deep) { x${e} = filters[start + ${e}u * params.deep_stride]; }
#end
  packed[item] = vec4<u32>(bitcast<u32>(vec2<f16>(x0, x1)), bitcast<u32>(vec2<f16>(x2, x3)),
                           bitcast<u32>(vec2<f16>(x4, x5)), bitcast<u32>(vec2<f16>(x6, x7)));
}
