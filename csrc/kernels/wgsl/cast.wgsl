// output[i] = input[i] in another type for i < n, four elements a work-item; to nearest even.
// 0 input, 1 output.
// Variables: GROUP, FROM (f32, f16 or i32), TO (f32 or f16, another), COUNTED (elements.wgsl).
// float16 goes as bits. The integers that float32 rounds are past float16's range.
#include "elements.wgsl"
#include "range.wgsl"
#include "round_half.wgsl"

#if FROM == "f16"
@group(0) @binding(0) var<storage, read> input: array<vec2<u32>>;
#else
@group(0) @binding(0) var<storage, read> input: array<vec4<${FROM}>>;
#end
#if TO == "f16"
@group(0) @binding(1) var<storage, read_write> output: array<vec2<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> output: array<vec4<f32>>;
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#if COUNTED
  count(arrayLength(&output), group);
#end
  let i = item_index(group, groups, local);
  let left = i32(params.n) - i32(i * 4u);
  if (left <= 0) { return; }
  // The rest of the last vector is not ours.
#if TO == "f16"
  let halves = half_bits(vec4<f32>(input[i]));
  let result = halves.xz | (halves.yw << vec2<u32>(16u));
  let upper = select(vec2<u32>(0u), vec2<u32>(0xffff0000u), vec2<i32>(1, 3) < vec2<i32>(left));
  let ours = upper | select(vec2<u32>(0u), vec2<u32>(0xffffu), vec2<i32>(0, 2) < vec2<i32>(left));
  if (left >= 4) {
    output[i] = result;
  } else {
    output[i] = (result & ours) | (output[i] & ~ours);
  }
#else
#if FROM == "f16"
  let pairs = input[i];
  let result = vec4<f32>(unpack2x16float(pairs.x), unpack2x16float(pairs.y));
#else
  let result = vec4<f32>(input[i]);
#end
  if (left >= 4) {
    output[i] = result;
  } else {
    output[i] = select(output[i], result, vec4<i32>(0, 1, 2, 3) < vec4<i32>(left));
  }
#end
}
