// Quantised weights, rounded to float16, as matrix units take the columns of B that want whole blocks
// (matrix_pack.wgsl), with zeros beyond them. A group of a row of weights a work-item.
// Bindings: the planes of quantized_planes.wgsl, then packed.
// Variables: GROUP, FORMAT.
//! GROUP: 256
//! T: f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
#let WHOLE = 1
#include "quantized_planes.wgsl"
#include "range.wgsl"
/// Rows of weights and groups of each; rows of a block.
struct Params { n: u32, groups: u32, lines: u32, items: u32 }
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read_write> packed: array<u32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.items) { return; }
  let line = item % params.lines;
  let block = item / params.lines;
  let row = block / params.groups * params.lines + line;
  let at = min(row, params.n - 1u) * params.groups + block % params.groups;
#let r = 0
#if LOW == 8
  let low0_0 = low_plane[2u * at];
  let low1_0 = low_plane[2u * at + 1u];
#else
  let low0_0 = low_plane[at];
#end
#if HIGH > 0
  let high_0 = high_plane[at];
#end
  let scale0_0 = scale_of(at, 0u);
#if HALVES
  let scale1_0 = scale_of(at, 1u);
#end
#include "quantized_values.wgsl"
  let step = params.lines;
  let to = block * (16u * step) + line;
  let is_row = row < params.n;
#for j in 0..8
  packed[to + ${2 * j}u * step] = select(0u, pack2x16float(w${j}.xy), is_row);
  packed[to + ${2 * j + 1}u * step] = select(0u, pack2x16float(w${j}.zw), is_row);
#end
}
