// Elements of images at the places of a grid: some channels of one point a work-item, of 16 bits of
// two points, which are a word of each plane. ODD: planes are not whole words, of which a work-item
// then has one, whatever it is of.
// 0 input, 1 grid, 2 output.
// Variables: GROUP, T, AXES, ODD; MODE, PADDING and ALIGNED, as sample_axes.wgsl has them.
//! T: f32 f64 f16 bf16
//! AXES: 2 3
//! MODE: bilinear nearest bicubic
//! only: MODE != "bicubic" or AXES == 2
//! ODD: 0 1
//! only: ODD == 0 or T == "f16" or T == "bf16"
//! PADDING: constant zeros border reflection
//! ALIGNED: constant
//! GROUP: 256
#include "stored_floats.wgsl"
#include "range.wgsl"

struct Params {
  n: u32, points: u32, cells: u32, channels: u32,
  words: u32, share: u32, shares: u32,  // of points; channels of a work-item, and how many of these
  length0: u32, length1: u32, length2: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${STORED}>;
@group(0) @binding(1) var<storage, read> grid: array<${STORED}>;
@group(0) @binding(2) var<storage, read_write> output: array<${STORED}>;
#let SLOPES = 0
#include "sample_axes.wgsl"

fn coordinate(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(grid[at / 2u], at));
#else
  return grid[at];
#end
}
fn element(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(input[at / 2u], at));
#else
  return input[at];
#end
}

/// The axes of a point, the last one first.
struct Point {
  x: Axis, y: Axis,
#if AXES == 3
  z: Axis,
#end
}
fn point_at(at: u32) -> Point {
  var made = Point();
  made.x = axis_of(coordinate(at * ${AXES}u), params.length2);
  made.y = axis_of(coordinate(at * ${AXES}u + 1u), params.length1);
#if AXES == 3
  made.z = axis_of(coordinate(at * 3u + 2u), params.length0);
#end
  return made;
}
/// Of the plane that starts at `first`. What is outside is not read.
fn sampled(point: Point, first: u32) -> ${F} {
  var sum = ${F}();
#let DEEP = 1
#if AXES == 3
#let DEEP = PER
#end
#for a in 0..DEEP
#for b in 0..PER
  {
    var row = point.y.at${b};
    var weight = point.y.weight${b};
    var is_in = row != 0xffffffffu;
#if AXES == 3
    row += point.z.at${a} * params.length1;
    weight *= point.z.weight${a};
    is_in = is_in && point.z.at${a} != 0xffffffffu;
#end
    let row_at = first + row * params.length2;
    var row_sum = ${F}();
#for c in 0..PER
    if (is_in && point.x.at${c} != 0xffffffffu) {
      row_sum = fma(point.x.weight${c}, element(row_at + point.x.at${c}), row_sum);
    }
#end
    sum = fma(weight, row_sum, sum);
  }
#end
#end
  return sum;
}

#if ODD
fn output_at(o: u32) -> ${F} {
  let plane = o / params.points;
  let point = point_at(plane / params.channels * params.points + o % params.points);
  return sampled(point, plane * params.cells);
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if ODD
  let o = item * 2u;
  if (o >= params.n) { return; }
  let low = output_at(o);
  if (o + 1u == params.n) {
    // What lies behind the last element is another's.
    output[item] = (word_of(low, low) & 0xffffu) | (output[item] & 0xffff0000u);
  } else {
    output[item] = word_of(low, output_at(o + 1u));
  }
#else
  if (item >= params.n) { return; }
  let word = item % params.words;
  let share = item / params.words % params.shares;
  let image = item / params.words / params.shares;
  let first = image * params.points + word * ${PACK}u;
  let point = point_at(first);
#if PACK == 2
  let next = point_at(first + 1u);
#end
  let end = min(params.channels, (share + 1u) * params.share);
  for (var channel = share * params.share; channel < end; channel++) {
    let plane = image * params.channels + channel;
    let value = sampled(point, plane * params.cells);
#if PACK == 2
    output[plane * params.words + word] = word_of(value, sampled(next, plane * params.cells));
#else
    output[plane * params.words + word] = value;
#end
  }
#end
}
