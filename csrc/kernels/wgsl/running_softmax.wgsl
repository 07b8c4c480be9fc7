// A maximum and a sum of e^(x - maximum) that go on as x come in, after functions.wgsl.
fn lowest() -> f32 {
  var bits = 0xff800000u;  // some compilers refuse a constant that is not finite
  return bitcast<f32>(bits);
}
/// NaN stays.
fn larger(x: f32, y: f32) -> f32 {
  return select(select(y, x, x > y), x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
/// What to take from x before exp: the maximum, or 0 while there is only -infinity.
fn reference_of(top: f32) -> f32 { return select(top, 0.0, top == lowest()); }
/// What a sum under the maximum `top` is worth under `higher`.
fn rescale(top: f32, higher: f32) -> f32 {
  return select(exp_of(splat(top - higher)).x, 0.0, top == lowest());
}
