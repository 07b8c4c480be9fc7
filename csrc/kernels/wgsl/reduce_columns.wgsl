// Reduces pieces of the middle axis of [outer, length, inner], one piece of one column a work-item:
// output[piece * outer * inner + column]. Neighbours read neighbours.
// 0 input, 1 output.
// Variables: GROUP, T (of input), TO (of output), OP (sum, max, min).
#if T == "f16" || TO == "f16"
enable f16;
#end
#include "combine.wgsl"

struct Params { columns: u32, length: u32, inner: u32, pieces: u32, piece: u32, factor: f32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read_write> output: array<${TO}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (item >= params.columns * params.pieces) { return; }
  let column = item % params.columns;
  let first = (item / params.columns) * params.piece;
  let end = min(first + params.piece, params.length);
  let base = (column / params.inner) * params.length * params.inner + column % params.inner;
  var result = neutral();
  var i = first;
  for (; i + 3u < end; i += 4u) {
    let at = base + i * params.inner;
    result = combine(result, vec4<f32>(f32(input[at]), f32(input[at + params.inner]),
                                       f32(input[at + 2u * params.inner]),
                                       f32(input[at + 3u * params.inner])));
  }
  for (; i < end; i++) {
    result = combine(result, vec4<f32>(f32(input[base + i * params.inner]), neutral().yzw));
  }
  output[item] = ${TO}(combine_lanes(result) * params.factor);
}
