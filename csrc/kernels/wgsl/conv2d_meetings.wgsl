// One of conv2d's ops as sums over the elements of its operands that meet, those of its rows and
// of its columns each from a table: first element of a, first element of b, count. One element of
// the result a work-item.
// 0 a, 1 b, 2 the tables, of rows and then of columns, 3 result, 4 bias where BIAS.
// Variables: GROUP, T, BIAS, ACTIVATION.
//! T: f32 f16
//! BIAS: 0 1
//! GROUP: 256
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
#include "floats.wgsl"
#include "range.wgsl"
#include "activation.wgsl"

struct Params {
  n: u32, height: u32, width: u32,
  minors: u32, planes_of_group: u32, groups: u32, depth: u32,
  a_major: u32, a_minor: u32, a_group: u32, a_step: u32, a_height: u32, a_width: u32,
  b_major: u32, b_minor: u32, b_group: u32, b_step: u32, b_height: u32, b_width: u32,
  a_row_step: u32, b_row_step: u32, a_column_step: u32, b_column_step: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${T}>;
@group(0) @binding(1) var<storage, read> b: array<${T}>;
@group(0) @binding(2) var<storage, read> tables: array<u32>;
@group(0) @binding(3) var<storage, read_write> result: array<${T}>;
#if BIAS
@group(0) @binding(4) var<storage, read> bias: array<${T}>;
#end

fn meeting(i: u32) -> vec3<u32> {
  return vec3<u32>(tables[3u * i], tables[3u * i + 1u], tables[3u * i + 2u]);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.n) { return; }
  let row = meeting(item / params.width % params.height);
  let column = meeting(params.height + item % params.width);
  let plane = item / params.width / params.height;
  let major = plane / params.minors;
  let minor = plane % params.minors;
  let of_group = plane / params.planes_of_group % params.groups;
  let plane_a = major * params.a_major + minor * params.a_minor + of_group * params.a_group;
  let plane_b = major * params.b_major + minor * params.b_minor + of_group * params.b_group;
  let first_a = (plane_a * params.a_height + row.x) * params.a_width + column.x;
  let first_b = (plane_b * params.b_height + row.y) * params.b_width + column.y;
  let deep_a = params.a_step * params.a_height * params.a_width;
  let deep_b = params.b_step * params.b_height * params.b_width;
  let depth = select(0u, params.depth, row.z > 0u && column.z > 0u);
  var sum = 0.0;
  for (var deep = 0u; deep < depth; deep++) {
    var plane_sum = 0.0;
    for (var y = 0u; y < row.z; y++) {
      var at_a = first_a + deep * deep_a + y * params.a_row_step * params.a_width;
      var at_b = first_b + deep * deep_b + y * params.b_row_step * params.b_width;
      var row_sum = 0.0;
      for (var x = 0u; x < column.z; x++) {
        row_sum = fma(f32(a[at_a]), f32(b[at_b]), row_sum);
        at_a += params.a_column_step;
        at_b += params.b_column_step;
      }
      plane_sum += row_sum;
    }
    sum += plane_sum;
  }
#if BIAS
  sum += f32(bias[minor]);
#end
  result[item] = ${T}(activated_one(sum));
}
