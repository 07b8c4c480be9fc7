// Reduces pieces of rows: output[row * pieces + piece] from input[row * length + ...], one piece a
// workgroup. Work-items sum four lanes each, then a tree joins them.
// 0 input, 1 output.
// Variables: GROUP, T (of input), TO (of output), OP (sum, max, min).
#if T == "f16" || TO == "f16"
enable f16;
#end
#include "combine.wgsl"

struct Params { rows: u32, length: u32, pieces: u32, piece: u32, factor: f32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read_write> output: array<${TO}>;
var<workgroup> shared_results: array<vec4<f32>, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.pieces;
  let first = (index % params.pieces) * params.piece;
  let end = min(first + params.piece, params.length);
  let base = row * params.length;
  var result = neutral();
  if (row < params.rows) {
    var i = first + local;
    for (; i + ${3 * GROUP}u < end; i += ${4 * GROUP}u) {
      result = combine(result, vec4<f32>(f32(input[base + i]), f32(input[base + i + ${GROUP}u]),
                                         f32(input[base + i + ${2 * GROUP}u]),
                                         f32(input[base + i + ${3 * GROUP}u])));
    }
    for (; i < end; i += ${GROUP}u) {
      result = combine(result, vec4<f32>(f32(input[base + i]), neutral().yzw));
    }
  }
  shared_results[local] = result;
  for (var width = ${GROUP / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) {
      shared_results[local] = combine(shared_results[local], shared_results[local + width]);
    }
  }
  if (local == 0u && row < params.rows) {
    output[index] = ${TO}(combine_lanes(shared_results[0]) * params.factor);
  }
}
