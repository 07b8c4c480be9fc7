// float32 to the bits of float16, to nearest even, by integers: how a device rounds is its own
// choice.
fn half_bits(x: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<u32>>(x);
  let sign = (bits >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
  let size = bits & vec4<u32>(0x7fffffffu);
  // Normal results: the exponent moves by 112, thirteen digits are rounded off.
  let odd = (size >> vec4<u32>(13u)) & vec4<u32>(1u);
  let normal = (size + vec4<u32>(0xfffu) + odd - vec4<u32>(0x38000000u)) >> vec4<u32>(13u);
  // Subnormal results: adding 0.5 leaves the digits that fit, rounded, at the end.
  let lifted = bitcast<vec4<u32>>(bitcast<vec4<f32>>(size) + vec4<f32>(0.5));
  let small = lifted - vec4<u32>(0x3f000000u);
  var half = select(normal, small, size < vec4<u32>(0x38800000u));
  half = select(half, vec4<u32>(0x7c00u), size >= vec4<u32>(0x477ff000u));
  half = select(half, vec4<u32>(0x7e00u), size > vec4<u32>(0x7f800000u));
  return half | sign;
}
