// float32: arithmetic, comparisons, rounding, bits.
fn kept_f32(x: vec4<f32>) -> vec4<f32> { return same_as(x); }
fn is_nan_f32(x: vec4<f32>) -> vec4<bool> { return is_nan(x); }
fn is_infinite_f32(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) == vec4<u32>(0x7f800000u);
}
fn is_finite_f32(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) < vec4<u32>(0x7f800000u);
}
fn has_sign_f32(x: vec4<f32>) -> vec4<bool> { return is_negative(x); }
fn not_zero_f32(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) != vec4<u32>(0u);
}
/// In the order of the numbers, -0 and 0 the same; subnormals too, which devices may take for 0.
fn order_of(x: vec4<f32>) -> vec4<i32> {
  let bits = bitcast<vec4<i32>>(x);
  let sign = bits >> vec4<u32>(31u);
  return (bits ^ (sign & vec4<i32>(0x7fffffff))) - sign;
}
fn either_nan(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> { return is_nan(x) | is_nan(y); }
fn equal_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> {
  return (order_of(x) == order_of(y)) & !either_nan(x, y);
}
fn not_equal_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> { return !equal_f32(x, y); }
fn less_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> {
  return (order_of(x) < order_of(y)) & !either_nan(x, y);
}
fn less_equal_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> {
  return (order_of(x) <= order_of(y)) & !either_nan(x, y);
}
fn greater_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> { return less_f32(y, x); }
fn greater_equal_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<bool> { return less_equal_f32(y, x); }
fn choose_f32(c: vec4<bool>, x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(select(bitcast<vec4<u32>>(y), bitcast<vec4<u32>>(x), c));
}
fn choose_bool(c: vec4<bool>, x: vec4<bool>, y: vec4<bool>) -> vec4<bool> {
  return (c & x) | (!c & y);
}
fn bits_and_bool(x: vec4<bool>, y: vec4<bool>) -> vec4<bool> { return x & y; }
fn bits_or_bool(x: vec4<bool>, y: vec4<bool>) -> vec4<bool> { return x | y; }
fn bits_xor_bool(x: vec4<bool>, y: vec4<bool>) -> vec4<bool> { return x != y; }
fn bits_not_bool(x: vec4<bool>) -> vec4<bool> { return !x; }

fn maximum_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return choose_f32(is_nan(x) | (!is_nan(y) & (order_of(x) >= order_of(y))), x, y);
}
fn minimum_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return choose_f32(is_nan(x) | (!is_nan(y) & (order_of(x) <= order_of(y))), x, y);
}
/// Of which the largest is that of the largest number, or of NaN, which is above all; -infinity's is
/// 0. Numbers of 32 bits are compared in one instruction.
fn key_of_largest(x: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<i32>>(x);
  let order = bits ^ ((bits >> vec4<u32>(31u)) & vec4<i32>(0x7fffffff));
  return bitcast<vec4<u32>>(order) + vec4<u32>(0x7f800001u);
}
fn largest_of_key(key: vec4<u32>) -> vec4<f32> {
  let order = bitcast<vec4<i32>>(key - vec4<u32>(0x7f800001u));
  return bitcast<vec4<f32>>(order ^ ((order >> vec4<u32>(31u)) & vec4<i32>(0x7fffffff)));
}
fn key_of_least(x: vec4<f32>) -> vec4<u32> { return key_of_largest(op_neg(x)); }
fn least_of_key(key: vec4<u32>) -> vec4<f32> { return op_neg(largest_of_key(key)); }
fn magnitude_f32(x: vec4<f32>) -> vec4<f32> { return op_abs(x); }
fn negate_f32(x: vec4<f32>) -> vec4<f32> { return op_neg(x); }
fn sign_of_f32(x: vec4<f32>) -> vec4<f32> {
  let sign = choose_f32(is_nan(x), x, copy_sign(splat(1.0), x));
  return choose_f32(not_zero_f32(x), sign, splat(0.0));
}
fn copy_sign_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return copy_sign(x, y); }
fn next_after_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let from_place = order_of(x);
  let to_place = order_of(y);
  let step = select(vec4<i32>(-1), vec4<i32>(1), to_place > from_place);
  let place = from_place + step;
  let bits = select(bitcast<vec4<u32>>(place),
                    bitcast<vec4<u32>>(vec4<i32>(0) - place) | vec4<u32>(0x80000000u),
                    place < vec4<i32>(0));
  // What goes from below to 0 keeps its sign.
  let lost = (place == vec4<i32>(0)) & (from_place < vec4<i32>(0));
  let moved = bitcast<vec4<f32>>(select(bits, vec4<u32>(0x80000000u), lost));
  let result = choose_f32(from_place == to_place, y, moved);
  return choose_f32(either_nan(x, y), not_a_number(), result);
}
fn rounding_done(x: vec4<f32>, whole: vec4<f32>) -> vec4<f32> {
  return choose_f32(op_abs(x) < splat(8388608.0), copy_sign(whole, x), x);
}
fn round_down_f32(x: vec4<f32>) -> vec4<f32> { return rounding_done(x, floor(x)); }
fn round_up_f32(x: vec4<f32>) -> vec4<f32> { return rounding_done(x, ceil(x)); }
fn round_to_zero_f32(x: vec4<f32>) -> vec4<f32> { return rounding_done(x, trunc(x)); }
fn round_to_even_f32(x: vec4<f32>) -> vec4<f32> { return rounding_done(x, round(x)); }

fn no_number_f32() -> vec4<f32> { return not_a_number(); }
fn scaled_f32(x: vec4<f32>, e: vec4<i32>) -> vec4<f32> { return scaled(x, e); }
fn divide_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return quotient(x, y); }
fn reciprocal_f32(x: vec4<f32>) -> vec4<f32> { return op_reciprocal(x); }
fn square_root_f32(x: vec4<f32>) -> vec4<f32> { return op_sqrt(x); }
fn rectified_f32(x: vec4<f32>) -> vec4<f32> { return op_relu(x); }
fn logistic_f32(x: vec4<f32>) -> vec4<f32> { return op_sigmoid(x); }
fn silu_f32(x: vec4<f32>) -> vec4<f32> { return op_silu(x); }
fn gelu_f32(x: vec4<f32>) -> vec4<f32> { return op_gelu(x); }
fn gelu_tanh_f32(x: vec4<f32>) -> vec4<f32> { return op_gelu_tanh(x); }
fn exponential_f32(x: vec4<f32>) -> vec4<f32> { return exp_of(x); }
fn logarithm_f32(x: vec4<f32>) -> vec4<f32> { return op_log(x); }
fn hyperbolic_tangent_f32(x: vec4<f32>) -> vec4<f32> { return op_tanh(x); }
fn power_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return op_pow(x, y); }
