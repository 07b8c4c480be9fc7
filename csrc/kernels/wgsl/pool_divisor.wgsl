// What sums of windows are over, of parameters that hold its bits.
// Variables: T, F.
fn divisor() -> ${F} {
#if T == "f64"
  return bitcast<f64>((u64(params.divisor_high) << 32u) | u64(params.divisor));
#else
  return bitcast<f32>(params.divisor);
#end
}
