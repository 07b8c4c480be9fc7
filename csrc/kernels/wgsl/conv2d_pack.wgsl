// A filter as conv2d_taps.wgsl reads it: by group, tap and depth, rows side by side, with zeros up
// to whole tiles of rows. One line of rows a workgroup.
// 0 filter, 1 packed.
// Variables: GROUP, T.
//! GROUP: 256
//! T: f32 f16
#include "floats.wgsl"
struct Params {
  lines: u32, rows: u32, padded_rows: u32, deep: u32, taps: u32,
  group_stride: u32, row_stride: u32, deep_stride: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(1) var<storage, read_write> lines: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let line = group.x + group.y * groups.x;
  if (line >= params.lines) { return; }
  let deep = line % params.deep;
  let tap = line / params.deep % params.taps;
  let base = line / (params.deep * params.taps) * params.group_stride +
             deep * params.deep_stride + tap;
  for (var row = local; row < params.padded_rows; row += ${GROUP}u) {
    if (row < params.rows) {
      lines[line * params.padded_rows + row] = filter_taps[base + row * params.row_stride];
    } else {
      lines[line * params.padded_rows + row] = ${T}();
    }
  }
}
