// A filter as conv2d_taps.wgsl reads it: by group, tap and depth, rows side by side, with zeros up
// to whole tiles of rows.
// 0 filter, 1 packed.
// Variables: GROUP, T.
#if T == "f16"
enable f16;
#end
#include "range.wgsl"

struct Params {
  n: u32, rows: u32, padded_rows: u32, deep: u32, taps: u32,
  group_stride: u32, row_stride: u32, deep_stride: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(1) var<storage, read_write> packed: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  let row = i % params.padded_rows;
  let line = i / params.padded_rows;
  let deep = line % params.deep;
  let tap = line / params.deep % params.taps;
  let of_group = line / params.deep / params.taps * params.group_stride;
  var value = ${T}();
  if (row < params.rows) {
    value = filter_taps[of_group + row * params.row_stride + deep * params.deep_stride + tap];
  }
  packed[i] = value;
}
