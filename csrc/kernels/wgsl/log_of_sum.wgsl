// The natural logarithm of a sum of powers of which one is 1; NaN stays.
fn log_of_sum(x: f32) -> f32 {
  let bits = bitcast<i32>(x);
  let exponent = (bits - 0x3f3504f3) >> 23u;
  let f = bitcast<f32>(bits - (exponent << 23u)) - 1.0;
  let e = f32(exponent);
  var p = fma(f, 0.0674919, -0.11670025);
  p = fma(p, f, 0.118835375);
  p = fma(p, f, -0.1240624);
  p = fma(p, f, 0.1422036);
  p = fma(p, f, -0.16667989);
  p = fma(p, f, 0.20002072);
  p = fma(p, f, -0.2500001);
  p = fma(p, f, 0.33333313);
  let f2 = f * f;
  let log = fma(e, 0.693145752, f + (f * f2 * p + e * 1.42860677e-06 - f2 * 0.5));
  return select(log, x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
