// Integers: signed S and unsigned U of BITS bits. What is divided by 0 gives 0.
fn splat_${S}(x: i32) -> vec4<${S}> { return vec4<${S}>(${S}(x)); }
fn splat_${U}(x: u32) -> vec4<${U}> { return vec4<${U}>(${U}(x)); }
fn negate_${U}(x: vec4<${U}>) -> vec4<${U}> { return splat_${U}(0u) - x; }
fn negate_${S}(x: vec4<${S}>) -> vec4<${S}> { return splat_${S}(0) - x; }
fn magnitude_${U}(x: vec4<${U}>) -> vec4<${U}> { return x; }
fn magnitude_${S}(x: vec4<${S}>) -> vec4<${S}> {
  return select(x, negate_${S}(x), x < splat_${S}(0));
}
fn sign_of_${U}(x: vec4<${U}>) -> vec4<${U}> { return min(x, splat_${U}(1u)); }
fn sign_of_${S}(x: vec4<${S}>) -> vec4<${S}> {
  return select(select(splat_${S}(0), splat_${S}(1), x > splat_${S}(0)), splat_${S}(-1),
                x < splat_${S}(0));
}
// Signed ones by the sizes of both, since devices differ in the smallest number over -1.
fn sizes_divided_${U}(x: vec4<${U}>, y: vec4<${U}>) -> vec4<${U}> {
  return select(x / max(y, splat_${U}(1u)), splat_${U}(0u), y == splat_${U}(0u));
}
fn floor_divide_${U}(x: vec4<${U}>, y: vec4<${U}>) -> vec4<${U}> {
  return sizes_divided_${U}(x, y);
}
fn remainder_${U}(x: vec4<${U}>, y: vec4<${U}>) -> vec4<${U}> {
  return select(x - sizes_divided_${U}(x, y) * y, splat_${U}(0u), y == splat_${U}(0u));
}
fn floor_divide_${S}(x: vec4<${S}>, y: vec4<${S}>) -> vec4<${S}> {
  let a = bitcast<vec4<${U}>>(magnitude_${S}(x));
  let b = bitcast<vec4<${U}>>(magnitude_${S}(y));
  let sizes = sizes_divided_${U}(a, b);
  let apart = (x < splat_${S}(0)) != (y < splat_${S}(0));
  let rest = select(splat_${U}(0u), splat_${U}(1u), apart & (sizes * b != a));
  let down = negate_${U}(sizes + rest);
  return bitcast<vec4<${S}>>(select(select(sizes, down, apart), splat_${U}(0u),
                                    y == splat_${S}(0)));
}
fn remainder_${S}(x: vec4<${S}>, y: vec4<${S}>) -> vec4<${S}> {
  return select(x - floor_divide_${S}(x, y) * y, splat_${S}(0), y == splat_${S}(0));
}
#for SIGNED in 0..2
#let C = U
#if SIGNED
#let C = S
#end
fn kept_${C}(x: vec4<${C}>) -> vec4<${C}> { return x; }
fn maximum_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> { return max(x, y); }
fn minimum_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> { return min(x, y); }
fn bits_and_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> { return x & y; }
fn bits_or_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> { return x | y; }
fn bits_xor_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> { return x ^ y; }
fn bits_not_${C}(x: vec4<${C}>) -> vec4<${C}> { return ~x; }
fn choose_${C}(c: vec4<bool>, x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> {
  return select(y, x, c);
}
fn not_zero_${C}(x: vec4<${C}>) -> vec4<bool> { return x != vec4<${C}>(); }
fn shift_is_long_${C}(by: vec4<${C}>) -> vec4<bool> {
  return bitcast<vec4<${U}>>(by) >= splat_${U}(${BITS}u);
}
fn shift_left_${C}(x: vec4<${C}>, by: vec4<${C}>) -> vec4<${C}> {
  let shifted = x << (vec4<u32>(by) & vec4<u32>(${BITS - 1}u));
  return select(shifted, vec4<${C}>(), shift_is_long_${C}(by));
}
fn shift_right_${C}(x: vec4<${C}>, by: vec4<${C}>) -> vec4<${C}> {
  let steps = select(vec4<u32>(by) & vec4<u32>(${BITS - 1}u), vec4<u32>(${BITS - 1}u),
                     shift_is_long_${C}(by));
#if SIGNED
  return x >> steps;
#else
  return select(x >> steps, vec4<${C}>(), shift_is_long_${C}(by));
#end
}
/// Wraps; to the power of less than 0, what is left of 1 / x^-y without its fraction.
fn power_${C}(x: vec4<${C}>, y: vec4<${C}>) -> vec4<${C}> {
  var result = vec4<${C}>(${C}(1));
  var square = x;
  var rest = bitcast<vec4<${U}>>(y);
#if SIGNED
  let negative = y < splat_${S}(0);
  rest = select(rest, splat_${U}(0u), negative);
#end
  for (var bit = 0u; bit < ${BITS}u && any(rest != vec4<${U}>()); bit += 1u) {
    result = select(result, result * square, (rest & splat_${U}(1u)) != vec4<${U}>());
    square = square * square;
    rest = rest >> vec4<u32>(1u);
  }
#if SIGNED
  let odd = (y & splat_${S}(1)) != splat_${S}(0);
  let of_minus_one = select(splat_${S}(1), splat_${S}(-1), odd);
  let below = select(select(splat_${S}(0), of_minus_one, x == splat_${S}(-1)), splat_${S}(1),
                     x == splat_${S}(1));
  result = select(result, below, negative);
#end
  return result;
}
#end
