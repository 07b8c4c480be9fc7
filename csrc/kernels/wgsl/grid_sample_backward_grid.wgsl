// The gradient of grid_sample by its grid: one point a work-item, of 16 bits and 3 axes two, whose
// coordinates are whole words. Each adds up over channels the gradient times the element of each tap,
// and then what its coordinates change these by.
// 0 gradient of the output, 1 input, 2 grid, 3 gradient of the grid.
// Variables: GROUP, T, AXES; MODE (not nearest, whose gradient is 0), PADDING and ALIGNED, as
// sample_axes.wgsl has them.
//! T: f32 f64 f16 bf16
//! AXES: 2 3
//! MODE: bilinear bicubic
//! only: MODE != "bicubic" or AXES == 2
//! PADDING: constant zeros border reflection
//! ALIGNED: constant
//! GROUP: 256
#include "stored_floats.wgsl"
#include "range.wgsl"

struct Params {
  n: u32, points: u32, cells: u32, channels: u32, length0: u32, length1: u32, length2: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> grad_output: array<${STORED}>;
@group(0) @binding(1) var<storage, read> input: array<${STORED}>;
@group(0) @binding(2) var<storage, read> grid: array<${STORED}>;
@group(0) @binding(3) var<storage, read_write> grad_grid: array<${STORED}>;
#let SLOPES = 1
#include "sample_axes.wgsl"

fn coordinate(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(grid[at / 2u], at));
#else
  return grid[at];
#end
}
fn gradient(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(grad_output[at / 2u], at));
#else
  return grad_output[at];
#end
}
fn element(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(input[at / 2u], at));
#else
  return input[at];
#end
}

struct Slopes { x: ${F}, y: ${F}, z: ${F} }

fn slopes_at(at: u32) -> Slopes {
  let x = axis_of(coordinate(at * ${AXES}u), params.length2);
  let y = axis_of(coordinate(at * ${AXES}u + 1u), params.length1);
#let DEEP = 1
#if AXES == 3
#let DEEP = PER
  let z = axis_of(coordinate(at * 3u + 2u), params.length0);
#end
#for k in 0..DEEP*PER*PER
  var sum${k} = ${F}();
#end
  let image = at / params.points;
  for (var channel = 0u; channel < params.channels; channel++) {
    let plane = image * params.channels + channel;
    let by = gradient(plane * params.points + at % params.points);
#for a in 0..DEEP
#for b in 0..PER
    {
      var row = y.at${b};
      var is_in = row != 0xffffffffu;
#if AXES == 3
      row += z.at${a} * params.length1;
      is_in = is_in && z.at${a} != 0xffffffffu;
#end
      let row_at = plane * params.cells + row * params.length2;
#for c in 0..PER
#let K = (a * PER + b) * PER + c
      // What is outside is not read.
      if (is_in && x.at${c} != 0xffffffffu) {
        sum${K} = fma(by, element(row_at + x.at${c}), sum${K});
      }
#end
    }
#end
#end
  }
  var found = Slopes();
#for a in 0..DEEP
#for b in 0..PER
#for c in 0..PER
#let K = (a * PER + b) * PER + c
#if AXES == 3
  found.x += sum${K} * x.slope${c} * y.weight${b} * z.weight${a};
  found.y += sum${K} * x.weight${c} * y.slope${b} * z.weight${a};
  found.z += sum${K} * x.weight${c} * y.weight${b} * z.slope${a};
#else
  found.x += sum${K} * x.slope${c} * y.weight${b};
  found.y += sum${K} * x.weight${c} * y.slope${b};
#end
#end
#end
#end
  return found;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if PACK == 2 && AXES == 3
  let at = item * 2u;
  if (at >= params.n) { return; }
  let low = slopes_at(at);
  grad_grid[item * 3u] = word_of(low.x, low.y);
  if (at + 1u == params.n) {
    // What lies behind the last element is another's.
    let word = grad_grid[item * 3u + 1u];
    grad_grid[item * 3u + 1u] = (word_of(low.z, low.z) & 0xffffu) | (word & 0xffff0000u);
  } else {
    let high = slopes_at(at + 1u);
    grad_grid[item * 3u + 1u] = word_of(low.z, high.x);
    grad_grid[item * 3u + 2u] = word_of(high.y, high.z);
  }
#else
  if (item >= params.n) { return; }
  let found = slopes_at(item);
#if PACK == 2
  grad_grid[item] = word_of(found.x, found.y);
#else
  grad_grid[item * ${AXES}u] = found.x;
  grad_grid[item * ${AXES}u + 1u] = found.y;
#if AXES == 3
  grad_grid[item * 3u + 2u] = found.z;
#end
#end
#end
}
