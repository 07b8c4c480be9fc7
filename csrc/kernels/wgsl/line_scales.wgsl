// Powers of two by which the lines of a matrix are multiplied before they are split into float16:
// what is largest of a line comes to lie from 2^14 up to 2^15. Largest magnitudes are bits of float32.
fn lift_of(largest: vec4<u32>) -> vec4<i32> {
  return vec4<i32>(141) - vec4<i32>(max(largest >> vec4<u32>(23u), vec4<u32>(1u)));
}
fn power_of_two(exponent: vec4<i32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(exponent + vec4<i32>(127)) << vec4<u32>(23u));
}
/// x times a power of two that float32 may not hold itself: 2^-252 to 2^252, in two steps, of which
/// neither overflows unless the result does.
fn lifted(x: vec4<f32>, exponent: vec4<i32>) -> vec4<f32> {
  let half = exponent / vec4<i32>(2);
  return x * power_of_two(half) * power_of_two(exponent - half);
}
