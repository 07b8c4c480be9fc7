// e^x for x <= 0, a dozen instructions; what would be subnormal is 0, NaN stays.
// Around this file: params.zero, which is 0 and which no compiler knows: a constant added and
// taken away again rounds to a whole number, unless a compiler sees both.
fn power_below_one(x: vec4<f32>) -> vec4<f32> {
  // By bits, from just below -87.33654 to -infinity: compilers may take NaN for smaller.
  let tiny = bitcast<vec4<u32>>(x) - vec4<u32>(0xc2aeac50u) <= vec4<u32>(0x3cd153b0u);
  let near = select(x, vec4<f32>(-87.33654), tiny);
  let lifted = fma(near, vec4<f32>(1.44269504), vec4<f32>(bitcast<f32>(0x4b400000u ^ params.zero)));
  let r = fma(lifted - 12582912.0, vec4<f32>(-0.693147181), near);
  var p = fma(r, vec4<f32>(0.001382011), vec4<f32>(0.008368685));
  p = fma(p, r, vec4<f32>(0.041668274));
  p = fma(p, r, vec4<f32>(0.16666521));
  p = fma(p, r, vec4<f32>(0.49999994));
  let fraction = 1.0 + fma(r * r, p, r);
  let power = (bitcast<vec4<u32>>(lifted) << vec4<u32>(23u)) + vec4<u32>(0x3f800000u);
  return select(fraction * bitcast<vec4<f32>>(power), vec4<f32>(), tiny);
}
