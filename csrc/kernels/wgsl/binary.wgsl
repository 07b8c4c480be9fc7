// output[i] = op(a[i], b[i]) for i < n.
// Bindings in this order, each left out where its buffer is the output's: a, b, output.
// Variables: GROUP, VECTORS, T (f32 or f16), OP, FORM:
//   "plain"      both inputs walk like the output; VECTORS vectors of four a work-item, all read
//                before the first is used
//   "scalar_a", "scalar_b"  that input is one element; as many a work-item
//   "strided"    RANK dimensions with strides for both inputs; one element a work-item
// A_IS_OUTPUT, B_IS_OUTPUT: that input is the output's buffer.
// COUNTED (elements.wgsl), not of "strided".
#include "floats.wgsl"
#include "functions.wgsl"
#include "binary_functions.wgsl"

#if FORM == "strided"
struct Params {
  n: u32, zero: u32,
#for D in 0..RANK
  shape${D}: u32,
#end
#for D in 0..RANK
  a_stride${D}: u32,
#end
#for D in 0..RANK
  b_stride${D}: u32,
#end
}
var<immediate> params: Params;
#let A_TYPE = T
#let B_TYPE = T
#let OUT_TYPE = T
#else
#include "elements.wgsl"
#let A_TYPE = VEC
#let B_TYPE = VEC
#let OUT_TYPE = VEC
#if FORM == "scalar_a"
#let A_TYPE = T
#elif FORM == "scalar_b"
#let B_TYPE = T
#end
#end
#let NEXT = 0
#if A_IS_OUTPUT
#let A = "output"
#else
@group(0) @binding(${NEXT}) var<storage, read> a: array<${A_TYPE}>;
#let A = "a"
#let NEXT = NEXT + 1
#end
#if B_IS_OUTPUT
#let B = "output"
#else
@group(0) @binding(${NEXT}) var<storage, read> b: array<${B_TYPE}>;
#let B = "b"
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read_write> output: array<${OUT_TYPE}>;

#if FORM != "strided"
fn a_at(i: u32) -> vec4<f32> {
#if FORM == "scalar_a"
  return splat(f32(${A}[0]));
#else
  return vec4<f32>(${A}[i]);
#end
}
fn b_at(i: u32) -> vec4<f32> {
#if FORM == "scalar_b"
  return splat(f32(${B}[0]));
#elif A_IS_OUTPUT && B_IS_OUTPUT
  // Compilers take the difference of a value and itself for 0, of infinity and NaN too.
  return same_as(vec4<f32>(output[i]));
#else
  return vec4<f32>(${B}[i]);
#end
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#if FORM == "strided"
  let i = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (i >= params.n) { return; }
  var rest = i;
  var at_a = 0u;
  var at_b = 0u;
#for back in 0..RANK
#let D = RANK - 1 - back
  {
    let index = rest % params.shape${D};
    rest /= params.shape${D};
    at_a += index * params.a_stride${D};
    at_b += index * params.b_stride${D};
  }
#end
  output[i] = ${T}(op_${OP}(splat(f32(${A}[at_a])), splat(f32(${B}[at_b]))).x);
#else
#if COUNTED
  count(arrayLength(&output), group);
#end
  let first = (group.x + group.y * groups.x) * ${GROUP * VECTORS}u;
  let whole = params.n / 4u;
  if (first + ${GROUP * VECTORS}u <= whole) {
#for v in 0..VECTORS
    let x${v} = a_at(first + ${v * GROUP}u + local);
    let y${v} = b_at(first + ${v * GROUP}u + local);
#end
#for v in 0..VECTORS
    output[first + ${v * GROUP}u + local] = ${OUT_TYPE}(op_${OP}(x${v}, y${v}));
#end
    return;
  }
  for (var i = first + local; i * 4u < params.n; i += ${GROUP}u) {
    let result = ${OUT_TYPE}(op_${OP}(a_at(i), b_at(i)));
    if (i < whole) {
      output[i] = result;
    } else {
      // The rest of the last vector is not ours.
      let left = i32(params.n % 4u);
      output[i] = select(output[i], result, vec4<i32>(0, 1, 2, 3) < vec4<i32>(left));
    }
  }
#end
}
