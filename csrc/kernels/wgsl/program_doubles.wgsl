// float64: what WGSL and the compilers behind it compute in full. No elementary function is; logarithms
// are made of what is.
fn bits_of(x: vec4<f64>) -> vec4<u64> { return bitcast<vec4<u64>>(x); }
fn f64_bits(high: u32) -> vec4<u64> { return vec4<u64>(u64(high)) << vec4<u32>(32u); }
fn size_bits(x: vec4<f64>) -> vec4<u64> { return bits_of(x) & ~f64_bits(0x80000000u); }
fn kept_f64(x: vec4<f64>) -> vec4<f64> {
  return bitcast<vec4<f64>>(bits_of(x) ^ vec4<u64>(u64(params.zero)));
}
fn is_nan_f64(x: vec4<f64>) -> vec4<bool> { return size_bits(x) > f64_bits(0x7ff00000u); }
fn is_infinite_f64(x: vec4<f64>) -> vec4<bool> { return size_bits(x) == f64_bits(0x7ff00000u); }
fn is_finite_f64(x: vec4<f64>) -> vec4<bool> { return size_bits(x) < f64_bits(0x7ff00000u); }
fn has_sign_f64(x: vec4<f64>) -> vec4<bool> { return bits_of(x) >= f64_bits(0x80000000u); }
fn not_zero_f64(x: vec4<f64>) -> vec4<bool> { return size_bits(x) != vec4<u64>(); }
fn no_number_f64() -> vec4<f64> { return bitcast<vec4<f64>>(f64_bits(0x7ff80000u)); }
fn choose_f64(c: vec4<bool>, x: vec4<f64>, y: vec4<f64>) -> vec4<f64> {
  return bitcast<vec4<f64>>(select(bits_of(y), bits_of(x), c));
}
fn order_of_f64(x: vec4<f64>) -> vec4<i64> {
  let bits = bitcast<vec4<i64>>(x);
  return select(bits, vec4<i64>() - bitcast<vec4<i64>>(size_bits(x)), bits < vec4<i64>());
}
fn either_nan_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> {
  return is_nan_f64(x) | is_nan_f64(y);
}
fn equal_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> {
  return (order_of_f64(x) == order_of_f64(y)) & !either_nan_f64(x, y);
}
fn not_equal_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> { return !equal_f64(x, y); }
fn less_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> {
  return (order_of_f64(x) < order_of_f64(y)) & !either_nan_f64(x, y);
}
fn less_equal_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> {
  return (order_of_f64(x) <= order_of_f64(y)) & !either_nan_f64(x, y);
}
fn greater_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> { return less_f64(y, x); }
fn greater_equal_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<bool> { return less_equal_f64(y, x); }
fn maximum_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<f64> {
  return choose_f64(is_nan_f64(x) | (!is_nan_f64(y) & (order_of_f64(x) >= order_of_f64(y))), x, y);
}
fn minimum_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<f64> {
  return choose_f64(is_nan_f64(x) | (!is_nan_f64(y) & (order_of_f64(x) <= order_of_f64(y))), x, y);
}
fn magnitude_f64(x: vec4<f64>) -> vec4<f64> { return bitcast<vec4<f64>>(size_bits(x)); }
fn negate_f64(x: vec4<f64>) -> vec4<f64> {
  return bitcast<vec4<f64>>(bits_of(x) ^ f64_bits(0x80000000u));
}
fn copy_sign_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<f64> {
  return bitcast<vec4<f64>>(size_bits(x) | (bits_of(y) & f64_bits(0x80000000u)));
}
fn sign_of_f64(x: vec4<f64>) -> vec4<f64> {
  let one = copy_sign_f64(vec4<f64>(1), x);
  return choose_f64(!not_zero_f64(x), vec4<f64>(), choose_f64(is_nan_f64(x), x, one));
}
fn next_after_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<f64> {
  let from_place = order_of_f64(x);
  let to_place = order_of_f64(y);
  let place = from_place + select(vec4<i64>(i64(-1)), vec4<i64>(i64(1)), to_place > from_place);
  let below = bitcast<vec4<u64>>(vec4<i64>() - place) | f64_bits(0x80000000u);
  let bits = select(bitcast<vec4<u64>>(place), below, place < vec4<i64>());
  let lost = (place == vec4<i64>()) & (from_place < vec4<i64>());
  let moved = bitcast<vec4<f64>>(select(bits, f64_bits(0x80000000u), lost));
  let result = choose_f64(from_place == to_place, y, moved);
  return choose_f64(either_nan_f64(x, y), no_number_f64(), result);
}
fn whole_f64(x: vec4<f64>, whole: vec4<f64>) -> vec4<f64> {
  return choose_f64(size_bits(x) < f64_bits(0x43300000u), copy_sign_f64(whole, x), x);
}
fn round_down_f64(x: vec4<f64>) -> vec4<f64> { return whole_f64(x, floor(x)); }
fn round_up_f64(x: vec4<f64>) -> vec4<f64> { return whole_f64(x, ceil(x)); }
fn round_to_zero_f64(x: vec4<f64>) -> vec4<f64> { return whole_f64(x, trunc(x)); }
fn round_to_even_f64(x: vec4<f64>) -> vec4<f64> { return whole_f64(x, round(x)); }
fn divide_f64(x: vec4<f64>, y: vec4<f64>) -> vec4<f64> { return x / y; }
fn reciprocal_f64(x: vec4<f64>) -> vec4<f64> { return vec4<f64>(1) / x; }
fn square_root_f64(x: vec4<f64>) -> vec4<f64> {
  let inside = (bits_of(x) - vec4<u64>(u64(1u))) < (f64_bits(0x7ff00000u) - vec4<u64>(u64(1u)));
  let root = sqrt(choose_f64(inside, x, vec4<f64>(1)));
  let below = has_sign_f64(x) & not_zero_f64(x) & !is_nan_f64(x);
  return choose_f64(inside, root, choose_f64(below, no_number_f64(), x));
}
fn rectified_f64(x: vec4<f64>) -> vec4<f64> {
  return choose_f64(has_sign_f64(x) & !is_nan_f64(x), vec4<f64>(), x);
}
fn power_of_two_f64(e: vec4<i32>) -> vec4<f64> {
  return bitcast<vec4<f64>>(vec4<u64>(vec4<u32>(e + vec4<i32>(1023))) << vec4<u32>(52u));
}
fn scaled_f64(x: vec4<f64>, e: vec4<i32>) -> vec4<f64> {
  let half = e >> vec4<u32>(1u);
  return x * power_of_two_f64(half) * power_of_two_f64(e - half);
}
/// A number above 0 as value * 2^exponent, the value between the roots of 1/2 and of 2.
struct Fraction { value: vec4<f64>, exponent: vec4<f64> }
fn fraction_of_f64(x: vec4<f64>) -> Fraction {
  // What is subnormal a device may take for 0: its digits behind a 1 count the same.
  let below = size_bits(x) < f64_bits(0x00100000u);
  let behind = bitcast<vec4<f64>>(size_bits(x) | f64_bits(0x3ff00000u)) - vec4<f64>(1);
  let bits = select(size_bits(x), bits_of(behind), below);
  let places = bitcast<vec4<i64>>(bits - f64_bits(0x3fe6a09eu)) >> vec4<u32>(52u);
  let value = bitcast<vec4<f64>>(bits - (bitcast<vec4<u64>>(places) << vec4<u32>(52u)));
  let lift = choose_f64(below, vec4<f64>(-1022), vec4<f64>());
  return Fraction(value, vec4<f64>(places) + lift);
}
/// log(1 + f) = f - below, for f between the roots less 1: by the series of the inverse hyperbolic
/// tangent of f / (2 + f). `rest` is taken off the former as well.
fn below_logarithm_f64(f: vec4<f64>, rest: vec4<f64>) -> vec4<f64> {
  let s = f / (vec4<f64>(2) + f);
  let z = s * s;
  var r = vec4<f64>(0.09523809523809523lf);
  r = fma(r, z, vec4<f64>(0.10526315789473684lf));
  r = fma(r, z, vec4<f64>(0.11764705882352941lf));
  r = fma(r, z, vec4<f64>(0.13333333333333333lf));
  r = fma(r, z, vec4<f64>(0.15384615384615385lf));
  r = fma(r, z, vec4<f64>(0.18181818181818182lf));
  r = fma(r, z, vec4<f64>(0.2222222222222222lf));
  r = fma(r, z, vec4<f64>(0.2857142857142857lf));
  r = fma(r, z, vec4<f64>(0.4lf));
  r = fma(r, z, vec4<f64>(0.6666666666666666lf));
  let half = vec4<f64>(0.5lf) * f * f;
  return half - fma(s, fma(z, r, half), rest);
}
fn special_of_logarithm_f64(x: vec4<f64>, result: vec4<f64>) -> vec4<f64> {
  let low = bitcast<vec4<f64>>(f64_bits(0xfff00000u));
  let below = has_sign_f64(x) & not_zero_f64(x) & !is_nan_f64(x);
  var r = choose_f64(not_zero_f64(x), result, low);
  r = choose_f64(is_nan_f64(x) | is_infinite_f64(x), x, r);
  return choose_f64(below, no_number_f64(), r);
}
fn logarithm_f64(x: vec4<f64>) -> vec4<f64> {
  let of_x = fraction_of_f64(x);
  let f = of_x.value - vec4<f64>(1);
  // ln 2 in two parts, of which the first times an exponent is exact.
  let below = below_logarithm_f64(f, of_x.exponent * vec4<f64>(1.6465949582897082e-12lf));
  return special_of_logarithm_f64(x, of_x.exponent * vec4<f64>(0.6931471805582987lf) - (below - f));
}
fn logarithm_2_f64(x: vec4<f64>) -> vec4<f64> {
  let of_x = fraction_of_f64(x);
  let f = of_x.value - vec4<f64>(1);
  let whole = f - below_logarithm_f64(f, vec4<f64>());
  return special_of_logarithm_f64(x, fma(whole, vec4<f64>(1.4426950408889634lf), of_x.exponent));
}
