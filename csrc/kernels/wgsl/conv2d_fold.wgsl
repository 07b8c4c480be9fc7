// The gradient of a convolution's input: what each tap adds to an element. Of each image and channel
// a line for each tap has the sums over filters, position by position of the output.
// 0 lines, 1 gradient, of which `first` elements lie before.
// Variables: GROUP, T, HEIGHT, WIDTH (of the filter).
#include "floats.wgsl"
#include "range.wgsl"
struct Params {
  n: u32, first: u32, height: u32, width: u32, out_height: u32, out_width: u32,
  stride_h: u32, stride_w: u32, pad_h: u32, pad_w: u32, dilation_h: u32, dilation_w: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> lines: array<f32>;
@group(0) @binding(1) var<storage, read_write> gradient: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.n) { return; }
  let above = item / params.width;
  let plane = above / params.height;
  let y = above - plane * params.height + params.pad_h;
  let x = item - above * params.width + params.pad_w;
  let positions = params.out_height * params.out_width;
  let start = plane * ${HEIGHT * WIDTH}u * positions;
  // What lies above or left of the output is a large number here.
#for i in 0..HEIGHT
  let down${i} = y - ${i}u * params.dilation_h;
  let row${i} = down${i} / params.stride_h;
  let is_row${i} = row${i} < params.out_height && row${i} * params.stride_h == down${i};
#end
#for j in 0..WIDTH
  let right${j} = x - ${j}u * params.dilation_w;
  let column${j} = right${j} / params.stride_w;
  let is_column${j} = column${j} < params.out_width && column${j} * params.stride_w == right${j};
#end
  var sum = 0.0;
#for i in 0..HEIGHT
  if (is_row${i}) {
    let line${i} = start + row${i} * params.out_width;
#for j in 0..WIDTH
    let at${i}_${j} = select(0u, line${i} + ${i * WIDTH + j}u * positions + column${j}, is_column${j});
#end
#for j in 0..WIDTH
    sum += select(0.0, lines[at${i}_${j}], is_column${j});
#end
  }
#end
  gradient[params.first + item] = ${T}(sum);
}
