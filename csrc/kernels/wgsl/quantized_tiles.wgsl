// y = x * weights^T, by tiles of 64 x 64: of a tile each work-item has 4 x 4. The values of a group of
// each of its rows of weights are in workgroup memory, with as much of x.
// Bindings: the planes of quantized_planes.wgsl, then x and y.
// Variables: GROUP (256), T, FORMAT.
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! GROUP: 256
#include "floats.wgsl"
#include "quantized_planes.wgsl"
#let TILE = 64
#let PITCH = 65

struct Params { m: u32, n: u32, groups: u32, x_stride: u32, y_stride: u32, across: u32, zero: u32 }
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${T}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
var<workgroup> x_tile: array<f32, ${32 * PITCH}>;
var<workgroup> w_tile: array<f32, ${32 * PITCH}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let tile = group.x + group.y * groups.x;
  let top = tile / params.across * ${TILE}u;
  let left = tile % params.across * ${TILE}u;
  let column = local % 16u;
  let row = local / 16u;
#for i in 0..4
  var sum${i} = vec4<f32>();
#end
  for (var g = 0u; g < params.groups; g += 1u) {
    // No compiler may take these loops apart, and the registers that would take.
    for (var i = local; i < ${32 * TILE}u + params.zero; i += ${GROUP}u) {
      let at = top + i / 32u;
      var value = 0.0;
      if (at < params.m) { value = f32(x[at * params.x_stride + g * 32u + i % 32u]); }
      x_tile[i % 32u * ${PITCH}u + i / 32u] = value;
    }
    for (var i = local; i < ${8 * TILE}u + params.zero; i += ${GROUP}u) {
      let at = left + i / 8u;
      var values = vec4<f32>();
      if (at < params.n) { values = values_of(at * params.groups + g, i % 8u); }
      let to = i % 8u * ${4 * PITCH}u + i / 8u;
#for e in 0..4
      w_tile[to + ${e * PITCH}u] = values[${e}u];
#end
    }
    workgroupBarrier();
    // A group's own sums, which round less than those of all groups so far.
#for i in 0..4
    var part${i} = vec4<f32>();
#end
    for (var k = 0u; k < ${32 * PITCH}u; k += ${PITCH}u) {
      let w = vec4<f32>(w_tile[k + column], w_tile[k + column + 16u], w_tile[k + column + 32u],
                        w_tile[k + column + 48u]);
#for i in 0..4
      part${i} = fma(vec4<f32>(x_tile[k + row + ${16 * i}u]), w, part${i});
#end
    }
#for i in 0..4
    sum${i} += part${i};
#end
    workgroupBarrier();
  }
#for i in 0..4
#for e in 0..4
  if (top + row + ${16 * i}u < params.m && left + column + ${16 * e}u < params.n) {
    y[(top + row + ${16 * i}u) * params.y_stride + left + column + ${16 * e}u] =
        ${T}(sum${i}[${e}u]);
  }
#end
#end
}
