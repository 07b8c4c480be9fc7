// What each element of the input gets of the windows that have it: one element a work-item, of 16
// bits a word of them. Nothing is added to memory, so sums are in one order.
// 0 grad_output, 1 grad_input, 2 places where MAX.
// Variables: GROUP, T, MAX, ADAPTIVE, PADDED, COUNTED (0: sums are over params.divisor, of MAX over
// nothing), DILATED (1: windows have gaps).
//! T: f32 f64 f16 bf16
//! MAX: 0 1
//! ADAPTIVE: constant
//! PADDED: constant
//! COUNTED: constant
//! DILATED: constant
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
fn divisor() -> ${F} {
#if T == "f64"
  return bitcast<f64>((u64(params.divisor_high) << 32u) | u64(params.divisor));
#else
  return bitcast<f32>(params.divisor);
#end
}

#for a in 0..3
/// The first window that may have an element, and the one behind the last.
fn windows${a}(i: u32) -> vec2<u32> {
#if ADAPTIVE
  return vec2<u32>(i * params.out${a} / params.length${a},
                   places_within((i + 1u) * params.out${a}, params.length${a}));
#else
  let at = i + params.pad${a};
  return vec2<u32>(places_within(max(at, params.reach${a}) - params.reach${a}, params.stride${a}),
                   min(at / params.stride${a} + 1u, params.out${a}));
#end
}
/// How many places of a window count; 0 where it lacks the element.
fn counted${a}(i: u32, p: u32) -> u32 {
#if DILATED
  if ((i + params.pad${a} - p * params.stride${a}) % params.dilation${a} != 0u) { return 0u; }
#end
#if COUNTED
  return window${a}(p).z;
#else
  return 1u;
#end
}
#end

fn gathered(i: u32) -> ${F} {
  let x = i % params.length2;
  let row = i / params.length2;
  let y = row % params.length1;
  let z = row / params.length1 % params.length0;
  let plane = row / params.length1 / params.length0;
  let d = windows0(z);
  let h = windows1(y);
  let w = windows2(x);
#if MAX
  let own = (z * params.length1 + y) * params.length2 + x;
#end
  var sum = ${F}();
  for (var p = d.x; p < d.y; p++) {
#if MAX == 0
    let of_depth = counted0(z, p);
#end
    for (var q = h.x; q < h.y; q++) {
#if MAX == 0
      let of_row = of_depth * counted1(y, q);
#end
      let first = ((plane * params.out0 + p) * params.out1 + q) * params.out2;
      var row_sum = ${F}();
      for (var r = w.x; r < w.y; r++) {
#if MAX
        if (places[first + r] == own) { row_sum += gradient(first + r); }
#else
        let of_all = ${F}(of_row) * ${F}(counted2(x, r));
        if (of_all != ${F}()) { row_sum += gradient(first + r) / of_all; }
#end
      }
      sum += row_sum;
    }
  }
#if MAX
  return sum;
#else
#if COUNTED
  return sum;
#else
  return sum / divisor();
#end
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if PACK == 2
  let i = item * 2u;
  if (i >= params.n) { return; }
  let low = gathered(i);
  // What lies behind the last element is another's.
  if (i + 1u == params.n) {
    grad_input[item] = (word_of(low, 0.0) & 0xffffu) | (grad_input[item] & 0xffff0000u);
  } else {
    grad_input[item] = word_of(low, gathered(i + 1u));
  }
#else
  if (item >= params.n) { return; }
  grad_input[item] = gathered(item);
#end
}
