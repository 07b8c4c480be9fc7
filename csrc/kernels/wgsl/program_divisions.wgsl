// Division to whole numbers, as NumPy has it, of floats F with the bits of U, of which DIGITS are
// behind the point. What is left is exact: by long division, some digits at a time.
fn rest_of_${F}(x: vec4<${F}>, y: vec4<${F}>) -> vec4<${F}> {
  let one = vec4<${U}>(${U}(1u)) << vec4<u32>(${DIGITS}u);
  let digits = one - vec4<${U}>(${U}(1u));
  let size_x = bitcast<vec4<${U}>>(magnitude_${F}(x));
  let size_y = bitcast<vec4<${U}>>(magnitude_${F}(y));
  let field_x = vec4<i32>(vec4<u32>(size_x >> vec4<u32>(${DIGITS}u)));
  let field_y = vec4<i32>(vec4<u32>(size_y >> vec4<u32>(${DIGITS}u)));
  let is_plain = is_finite_${F}(x) & is_finite_${F}(y) & not_zero_${F}(y);
  let divisor = select(one, (size_y & digits) | select(vec4<${U}>(), one, field_y > vec4<i32>(0)),
                       is_plain);
  var left = ((size_x & digits) | select(vec4<${U}>(), one, field_x > vec4<i32>(0))) % divisor;
  let unit = max(field_y, vec4<i32>(1));
  var more = select(vec4<i32>(0), max(field_x, vec4<i32>(1)) - unit, is_plain);
  while (any(more > vec4<i32>(0))) {
    let step = vec4<u32>(clamp(more, vec4<i32>(0), vec4<i32>(${AT_ONCE})));
    left = (left << step) % divisor;
    more -= vec4<i32>(step);
  }
  let rest = copy_sign_${F}(scaled_${F}(vec4<${F}>(left), unit - vec4<i32>(${LEAST})), x);
  return choose_${F}(size_x < size_y, x, rest);
}
fn undefined_${F}(x: vec4<${F}>, y: vec4<${F}>) -> vec4<bool> {
  return is_nan_${F}(x) | is_nan_${F}(y) | is_infinite_${F}(x);
}
fn remainder_${F}(x: vec4<${F}>, y: vec4<${F}>) -> vec4<${F}> {
  let rest = rest_of_${F}(x, y);
  let apart = has_sign_${F}(rest) != has_sign_${F}(y);
  let result = choose_${F}(not_zero_${F}(rest), choose_${F}(apart, rest + y, rest),
                           copy_sign_${F}(vec4<${F}>(), y));
  return choose_${F}(undefined_${F}(x, y) | !not_zero_${F}(y), no_number_${F}(), result);
}
fn floor_divide_${F}(x: vec4<${F}>, y: vec4<${F}>) -> vec4<${F}> {
  // The rounded quotient may have come up to the next whole number: then nearly all of y is left.
  let all = divide_${F}(x, y);
  let down = round_down_${F}(all);
  let left = remainder_${F}(x, y);
  let half = magnitude_${F}(y) * ${F}(0.5);
  let up = not_zero_${F}(left) & (down == all) & (magnitude_${F}(left) > half) &
           (magnitude_${F}(all) < vec4<${F}>(${F}(${POINT})));
  let below = is_infinite_${F}(y) & not_zero_${F}(x) & (has_sign_${F}(x) != has_sign_${F}(y));
  let result = choose_${F}(up | below, down - vec4<${F}>(1), down);
  return choose_${F}(not_zero_${F}(y),
                     choose_${F}(undefined_${F}(x, y), no_number_${F}(), result), all);
}
