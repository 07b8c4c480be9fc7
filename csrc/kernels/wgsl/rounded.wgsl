// float32 rounded to the digits of float16 or bfloat16, to nearest even, by integers: how a device
// rounds is its own choice. The result is float32 again.
// Variables: ROUND (0: as it is, 1: float16, 2: bfloat16).
fn rounded(x: vec4<f32>) -> vec4<f32> {
#if ROUND == 0
  return x;
#else
  let bits = bitcast<vec4<u32>>(x);
  let sign = bits & vec4<u32>(0x80000000u);
  let size = bits ^ sign;
#if ROUND == 1
  let odd = (size >> vec4<u32>(13u)) & vec4<u32>(1u);
  let normal = (size + vec4<u32>(0xfffu) + odd) & vec4<u32>(0xffffe000u);
  // Below the normal numbers, adding 0.5 leaves a count of 2^-24 at the end.
  let lifted = bitcast<vec4<u32>>(bitcast<vec4<f32>>(size) + vec4<f32>(0.5));
  let steps = lifted - vec4<u32>(0x3f000000u);
  let small = bitcast<vec4<u32>>(vec4<f32>(steps) * 5.9604644775390625e-08);
  var result = select(normal, small, size < vec4<u32>(0x38800000u));
  result = select(result, vec4<u32>(0x7f800000u), size >= vec4<u32>(0x477ff000u));
#else
  let odd = (size >> vec4<u32>(16u)) & vec4<u32>(1u);
  let result = (size + vec4<u32>(0x7fffu) + odd) & vec4<u32>(0xffff0000u);
#end
  return select(bitcast<vec4<f32>>(result | sign), x, size > vec4<u32>(0x7f800000u));
#end
}
