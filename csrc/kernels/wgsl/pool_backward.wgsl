// What each element of the input gets of the windows that have it: LINES elements one below the other
// a work-item, of 16 bits words of them, so that what several of them get of is read once. Nothing is
// added to memory, so sums are in one order.
// 0 grad_output, 1 grad_input, 2 places where MAX.
// Variables: GROUP, T, MAX, ADAPTIVE, PADDED, COUNTED (0: sums are over params.divisor, of MAX over
// nothing), DILATED (1: windows have gaps), DEPTH (0: axis 0 has one place), STRIDE0 to STRIDE2 (0: as
// params say), LINES (1: of 16 bits one work-item has a word of whatever rows).
//! T: f32 f64 f16 bf16
//! MAX: 0 1
//! ADAPTIVE: constant
//! PADDED: constant
//! COUNTED: constant
//! DILATED: constant
//! DEPTH: constant
//! STRIDE0: constant
//! STRIDE1: constant
//! STRIDE2: constant
//! LINES: 1 4
//! GROUP: 256
#include "stored_floats.wgsl"
#include "range.wgsl"
#include "pool_windows.wgsl"

@group(0) @binding(0) var<storage, read> grad_output: array<${STORED}>;
@group(0) @binding(1) var<storage, read_write> grad_input: array<${STORED}>;
#if MAX
@group(0) @binding(2) var<storage, read> places: array<u32>;
#end

fn gradient(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(grad_output[at / 2u], at));
#else
  return grad_output[at];
#end
}
#include "pool_divisor.wgsl"

#let STRIDE = STRIDE0
#for a in 0..3
#if a == 1
#let STRIDE = STRIDE1
#elif a == 2
#let STRIDE = STRIDE2
#end
/// How far apart windows are: a number that the compiler knows divides sooner.
fn stride${a}() -> u32 {
#if STRIDE == 0
  return params.stride${a};
#else
  return ${STRIDE}u;
#end
}
/// The first window that may have an element, and the one behind the last.
fn windows${a}(i: u32) -> vec2<u32> {
#if ADAPTIVE
  return vec2<u32>(i * params.out${a} / params.length${a},
                   places_within((i + 1u) * params.out${a}, params.length${a}));
#else
  let at = i + params.pad${a};
  return vec2<u32>(places_within(max(at, params.reach${a}) - params.reach${a}, stride${a}()),
                   min(at / stride${a}() + 1u, params.out${a}));
#end
}
/// How many places of a window count; 0 where it lacks the element.
fn counted${a}(i: u32, p: u32) -> u32 {
#if DILATED
  if ((i + params.pad${a} - p * stride${a}()) % params.dilation${a} != 0u) { return 0u; }
#end
#if COUNTED
  return window${a}(p).z;
#else
  return 1u;
#end
}
#end

struct Sums {
#for y in 0..LINES
  of${y}: ${F},
#end
}

/// Of elements of a column from one row on; those behind the last row are that.
fn gathered(slab: u32, first_row: u32, x: u32) -> Sums {
#if DEPTH
  let plane = slab / params.length0;
  let z = slab - plane * params.length0;
  let d = windows0(z);
#else
  let plane = slab;
  let z = 0u;
  let d = vec2<u32>(0u, 1u);
#end
  let w = windows2(x);
#for y in 0..LINES
  let y${y} = min(first_row + ${y}u, params.length1 - 1u);
  let h${y} = windows1(y${y});
#if MAX
  let own${y} = (z * params.length1 + y${y}) * params.length2 + x;
#end
  var sum${y} = ${F}();
#end
  for (var p = d.x; p < d.y; p++) {
#if MAX == 0
    let of_depth = counted0(z, p);
#end
    for (var q = h0.x; q < h${LINES - 1}.y; q++) {
      let first = ((plane * params.out0 + p) * params.out1 + q) * params.out2;
#for y in 0..LINES
      let is_in${y} = q >= h${y}.x && q < h${y}.y;
#if MAX
      // A place outside of its window is nobody's.
      let own_here${y} = select(0xfffffffeu, own${y}, is_in${y});
#else
      var of_row${y} = 0u;
      if (is_in${y}) { of_row${y} = of_depth * counted1(y${y}, q); }
#end
      var row_sum${y} = ${F}();
#end
      for (var r = w.x; r < w.y; r++) {
        let here = gradient(first + r);
#if MAX
        let place = places[first + r];
#for y in 0..LINES
        row_sum${y} += select(${F}(), here, place == own_here${y});
#end
#else
        let of_column = counted2(x, r);
#for y in 0..LINES
#if COUNTED
        let of_all${y} = ${F}(of_row${y}) * ${F}(of_column);
        if (of_all${y} != ${F}()) { row_sum${y} += here / of_all${y}; }
#else
        row_sum${y} += select(${F}(), here, of_row${y} != 0u && of_column != 0u);
#end
#end
#end
      }
#for y in 0..LINES
      sum${y} += row_sum${y};
#end
    }
  }
  var sums: Sums;
#for y in 0..LINES
#if MAX
  sums.of${y} = sum${y};
#elif COUNTED
  sums.of${y} = sum${y};
#else
  sums.of${y} = sum${y} / divisor();
#end
#end
  return sums;
}
#if LINES == 1
fn gathered_at(i: u32) -> ${F} {
  let line = i / params.length2;
  let slab = line / params.length1;
  return gathered(slab, line - slab * params.length1, i - line * params.length2).of0;
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if LINES > 1
  if (item >= params.n) { return; }
  let items = params.length2 / ${PACK}u;
  let line = item / items;
  let column = (item - line * items) * ${PACK}u;
  let blocks = (params.length1 + ${LINES - 1}u) / ${LINES}u;
  let slab = line / blocks;
  let first_row = (line - slab * blocks) * ${LINES}u;
  let first = (slab * params.length1 + first_row) * items + column / ${PACK}u;
  let low = gathered(slab, first_row, column);
#if PACK == 2
  let high = gathered(slab, first_row, column + 1u);
#end
#for y in 0..LINES
  if (first_row + ${y}u < params.length1) {
#if PACK == 2
    grad_input[first + ${y}u * items] = word_of(low.of${y}, high.of${y});
#else
    grad_input[first + ${y}u * items] = low.of${y};
#end
  }
#end
#elif PACK == 2
  let i = item * 2u;
  if (i >= params.n) { return; }
  let low = gathered_at(i);
  // What lies behind the last element is another's.
  if (i + 1u == params.n) {
    grad_input[item] = (word_of(low, 0.0) & 0xffffu) | (grad_input[item] & 0xffff0000u);
  } else {
    grad_input[item] = word_of(low, gathered_at(i + 1u));
  }
#else
  if (item >= params.n) { return; }
  grad_input[item] = gathered_at(item);
#end
}
