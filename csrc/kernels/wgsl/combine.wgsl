// How two partial results of a reduction become one, on vectors; OP is sum, max or min.
fn nan_bits(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
}
fn combine(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
#if OP == "sum"
  return x + y;
#elif OP == "max"
  return select(select(select(y, x, x > y), y, nan_bits(y)), x, nan_bits(x));
#else
  return select(select(select(y, x, x < y), y, nan_bits(y)), x, nan_bits(x));
#end
}
fn combine_two(x: f32, y: f32) -> f32 { return combine(vec4<f32>(x), vec4<f32>(y)).x; }
fn combine_lanes(x: vec4<f32>) -> f32 {
  let pairs = combine(x, x.zwxy);
  return combine(pairs, pairs.yxwz).x;
}
/// The value that changes nothing.
fn neutral() -> vec4<f32> {
#if OP == "sum"
  return vec4<f32>(0.0);
#elif OP == "max"
  var bits = vec4<u32>(0xff800000u);  // some compilers refuse a constant that is not finite
  return bitcast<vec4<f32>>(bits);
#else
  var bits = vec4<u32>(0x7f800000u);
  return bitcast<vec4<f32>>(bits);
#end
}
