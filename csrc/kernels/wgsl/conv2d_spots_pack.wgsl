// What conv2d_spots.wgsl reads: the filter by group and depth (channel that is read, tap; phase by
// phase), rows side by side, with zeros up to whole tiles of rows and whole steps of depth; and the
// spot of each depth.
// 0 filter, 1 spots of taps, 2 packed, 3 spots of depths.
// Variables: GROUP, STEP (of the depth), T.
#include "floats.wgsl"
#include "range.wgsl"
#include "conv2d_spots_params.wgsl"
@group(0) @binding(0) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(1) var<storage, read> spots: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> packed: array<${T}>;
@group(0) @binding(3) var<storage, read_write> deep_spots: array<vec4<u32>>;

/// params.tiles_n is here the rows with those that fill the last tile, params.first the phases.
@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(workgroup, workgroups, local);
  let row = item % params.tiles_n;
  let line = item / params.tiles_n;
  let depth = line % params.depth;
  let group = line / params.depth;
  if (group >= params.groups) { return; }
  var phase = phase_of(0u);
  for (var i = 1u; i < params.first; i++) {
    let next = phase_of(i);
    if (depth >= next.start) { phase = next; }
  }
  let taps = phase.end - phase.first;
  let inside = depth - phase.start;
  let deep = inside / max(taps, 1u);
  let is_there = deep < params.deep && taps > 0u;
  var value = ${T}();
  var spot = vec4<u32>(0x80000000u, 0u, 0xffffffffu, 0u);
  if (is_there) {
    spot = spots[phase.first + inside % taps];
    spot.z += deep * params.source_height * params.source_width;
    if (row < params.rows) {
      value = filter_taps[group * params.group_stride + row * params.row_stride +
                          deep * params.deep_stride + spot.w];
    }
  }
  packed[item] = value;
  if (row == 0u && group == 0u) { deep_spots[depth] = spot; }
}
