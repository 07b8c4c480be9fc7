// output[i] = op(input[i]) for i < n, VECTORS vectors of four a work-item, all read before the first
// is used.
// 0 input, 1 output; one binding where both are the same buffer.
// Variables: GROUP, VECTORS, T (f32 or f16), OP, IN_PLACE, COUNTED (elements.wgsl).
#include "floats.wgsl"
#include "elements.wgsl"
#include "functions.wgsl"

#if IN_PLACE
@group(0) @binding(0) var<storage, read_write> output: array<${VEC}>;
#let INPUT = "output"
#else
@group(0) @binding(0) var<storage, read> input: array<${VEC}>;
@group(0) @binding(1) var<storage, read_write> output: array<${VEC}>;
#let INPUT = "input"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#if COUNTED
  count(arrayLength(&output), group);
#end
  let first = (group.x + group.y * groups.x) * ${GROUP * VECTORS}u;
  let whole = params.n / 4u;
  if (first + ${GROUP * VECTORS}u <= whole) {
#for v in 0..VECTORS
    let x${v} = ${INPUT}[first + ${v * GROUP}u + local];
#end
#for v in 0..VECTORS
    output[first + ${v * GROUP}u + local] = ${VEC}(op_${OP}(vec4<f32>(x${v})));
#end
    return;
  }
  for (var i = first + local; i * 4u < params.n; i += ${GROUP}u) {
    let result = ${VEC}(op_${OP}(vec4<f32>(${INPUT}[i])));
    if (i < whole) {
      output[i] = result;
    } else {
      // The rest of the last vector is not ours.
      let left = i32(params.n % 4u);
      output[i] = select(output[i], result, vec4<i32>(0, 1, 2, 3) < vec4<i32>(left));
    }
  }
}
