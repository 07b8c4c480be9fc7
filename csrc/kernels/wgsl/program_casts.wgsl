// How elements lie in memory, and casts.
#for BITS in 1..3
#let WIDTH = BITS * 8
fn wrapped_uint${WIDTH}(x: vec4<u32>) -> vec4<u32> {
  return x & vec4<u32>(${(BITS - 1) * 65280 + 255}u);
}
fn wrapped_int${WIDTH}(x: vec4<i32>) -> vec4<i32> {
  return (x << vec4<u32>(${32 - WIDTH}u)) >> vec4<u32>(${32 - WIDTH}u);
}
fn decode_uint${WIDTH}(bits: vec4<u32>) -> vec4<u32> { return bits; }
fn decode_int${WIDTH}(bits: vec4<u32>) -> vec4<i32> {
  return wrapped_int${WIDTH}(bitcast<vec4<i32>>(bits));
}
fn encode_uint${WIDTH}(x: vec4<u32>) -> vec4<u32> { return wrapped_uint${WIDTH}(x); }
fn encode_int${WIDTH}(x: vec4<i32>) -> vec4<u32> {
  return wrapped_uint${WIDTH}(bitcast<vec4<u32>>(x));
}
#end
fn decode_bool(bits: vec4<u32>) -> vec4<bool> { return bits != vec4<u32>(0u); }
fn encode_bool(x: vec4<bool>) -> vec4<u32> { return select(vec4<u32>(0u), vec4<u32>(1u), x); }
fn decode_float16(bits: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(bits.x | (bits.y << 16u)),
                   unpack2x16float(bits.z | (bits.w << 16u)));
}
fn encode_float16(x: vec4<f32>) -> vec4<u32> { return half_bits(x); }
fn rounded_float16(x: vec4<f32>) -> vec4<f32> { return decode_float16(half_bits(x)); }
fn decode_bfloat16(bits: vec4<u32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bits << vec4<u32>(16u));
}
fn encode_bfloat16(x: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<u32>>(x);
  let odd = (bits >> vec4<u32>(16u)) & vec4<u32>(1u);
  let rounded = bits + vec4<u32>(0x7fffu) + odd;
  return select(rounded, bits | vec4<u32>(0x400000u), is_nan(x)) >> vec4<u32>(16u);
}
fn rounded_bfloat16(x: vec4<f32>) -> vec4<f32> { return decode_bfloat16(encode_bfloat16(x)); }

fn not_zero_bool(x: vec4<bool>) -> vec4<bool> { return x; }
fn i32_of_bool(x: vec4<bool>) -> vec4<i32> { return vec4<i32>(x); }
fn u32_of_bool(x: vec4<bool>) -> vec4<u32> { return vec4<u32>(x); }
fn i64_of_bool(x: vec4<bool>) -> vec4<i64> { return vec4<i64>(vec4<u32>(x)); }
fn u64_of_bool(x: vec4<bool>) -> vec4<u64> { return vec4<u64>(vec4<u32>(x)); }
fn f32_of_bool(x: vec4<bool>) -> vec4<f32> { return vec4<f32>(x); }
fn f64_of_bool(x: vec4<bool>) -> vec4<f64> { return vec4<f64>(vec4<f32>(x)); }
fn i32_of_u32(x: vec4<u32>) -> vec4<i32> { return bitcast<vec4<i32>>(x); }
fn u32_of_i32(x: vec4<i32>) -> vec4<u32> { return bitcast<vec4<u32>>(x); }
fn i64_of_i32(x: vec4<i32>) -> vec4<i64> { return vec4<i64>(x); }
fn u64_of_i32(x: vec4<i32>) -> vec4<u64> { return bitcast<vec4<u64>>(vec4<i64>(x)); }
fn i64_of_u32(x: vec4<u32>) -> vec4<i64> { return bitcast<vec4<i64>>(vec4<u64>(x)); }
fn u64_of_u32(x: vec4<u32>) -> vec4<u64> { return vec4<u64>(x); }
fn i64_of_u64(x: vec4<u64>) -> vec4<i64> { return bitcast<vec4<i64>>(x); }
fn u64_of_i64(x: vec4<i64>) -> vec4<u64> { return bitcast<vec4<u64>>(x); }
fn u32_of_u64(x: vec4<u64>) -> vec4<u32> {
  return vec4<u32>(x & vec4<u64>(u64(0xffffffffu)));
}
fn i32_of_u64(x: vec4<u64>) -> vec4<i32> { return bitcast<vec4<i32>>(u32_of_u64(x)); }
fn u32_of_i64(x: vec4<i64>) -> vec4<u32> { return u32_of_u64(bitcast<vec4<u64>>(x)); }
fn i32_of_i64(x: vec4<i64>) -> vec4<i32> { return i32_of_u64(bitcast<vec4<u64>>(x)); }
#for INDEX in 0..2
#let F = "f32"
#if INDEX
#let F = "f64"
#end
fn ${F}_of_i32(x: vec4<i32>) -> vec4<${F}> { return vec4<${F}>(x); }
fn ${F}_of_u32(x: vec4<u32>) -> vec4<${F}> { return vec4<${F}>(x); }
fn ${F}_of_i64(x: vec4<i64>) -> vec4<${F}> { return vec4<${F}>(x); }
fn ${F}_of_u64(x: vec4<u64>) -> vec4<${F}> { return vec4<${F}>(x); }
/// Without the fraction, 0 for NaN, within both bounds.
fn bounded_${F}(x: vec4<${F}>, least: ${F}, most: ${F}) -> vec4<${F}> {
  let near = select(trunc(x), vec4<${F}>(), is_nan_${F}(x));
  return max(min(near, vec4<${F}>(most)), vec4<${F}>(least));
}
fn int8_of_${F}(x: vec4<${F}>) -> vec4<i32> {
  return vec4<i32>(bounded_${F}(x, ${F}(-128), ${F}(127)));
}
fn int16_of_${F}(x: vec4<${F}>) -> vec4<i32> {
  return vec4<i32>(bounded_${F}(x, ${F}(-32768), ${F}(32767)));
}
fn uint8_of_${F}(x: vec4<${F}>) -> vec4<u32> {
  return vec4<u32>(bounded_${F}(x, ${F}(0), ${F}(255)));
}
fn uint16_of_${F}(x: vec4<${F}>) -> vec4<u32> {
  return vec4<u32>(bounded_${F}(x, ${F}(0), ${F}(65535)));
}
// The largest of more digits are no floats: converted below a power of two, and chosen beyond.
fn int32_of_${F}(x: vec4<${F}>) -> vec4<i32> {
  let end = vec4<${F}>(${F}(2147483648f));
  let near = bounded_${F}(x, ${F}(-2147483648f), ${F}(2147483520f));
#if F == "f64"
  let inside = bounded_${F}(x, ${F}(-2147483648f), ${F}(2147483648f) - ${F}(1));
#else
  let inside = near;
#end
  return select(vec4<i32>(inside), vec4<i32>(2147483647), (x >= end) & !is_nan_${F}(x));
}
fn uint32_of_${F}(x: vec4<${F}>) -> vec4<u32> {
  let end = vec4<${F}>(${F}(4294967296f));
#if F == "f64"
  let inside = bounded_${F}(x, ${F}(0), ${F}(4294967296f) - ${F}(1));
#else
  let inside = bounded_${F}(x, ${F}(0), ${F}(4294967040f));
#end
  return select(vec4<u32>(inside), vec4<u32>(0xffffffffu), (x >= end) & !is_nan_${F}(x));
}
fn int64_of_${F}(x: vec4<${F}>) -> vec4<i64> {
  let end = vec4<${F}>(${F}(9223372036854775808f));
  let least = vec4<i64>(i64(1)) << vec4<u32>(63u);
  let inside = select(bounded_${F}(x, -end.x, end.x), vec4<${F}>(), abs(x) >= end);
  let plain = vec4<i64>(inside);
  let beyond = select(~least, least, x < vec4<${F}>());
  return select(plain, beyond, (abs(x) >= end) & !is_nan_${F}(x));
}
fn uint64_of_${F}(x: vec4<${F}>) -> vec4<u64> {
  let end = vec4<${F}>(${F}(18446744073709551616f));
  let inside = select(bounded_${F}(x, ${F}(0), end.x), vec4<${F}>(), x >= end);
  return select(vec4<u64>(inside), ~vec4<u64>(), (x >= end) & !is_nan_${F}(x));
}
#end
fn f64_of_f32(x: vec4<f32>) -> vec4<f64> { return vec4<f64>(x); }
fn f32_of_f64(x: vec4<f64>) -> vec4<f32> { return vec4<f32>(x); }
/// With what is cut off left in the last digit, so that rounding it again is rounding once.
fn f32_for_rounding_of_f64(x: vec4<f64>) -> vec4<f32> {
  let near = vec4<f32>(x);
  let back = vec4<f64>(near);
  let bits = bitcast<vec4<u32>>(near);
  // To odd: the neighbour towards 0 where `near` was rounded up, and then the last digit set.
  let up = abs(back) > abs(x);
  let cut = select(bits, bits - vec4<u32>(1u), up) | vec4<u32>(1u);
  let as_it_is = (back == x) | is_nan_f64(x) | is_infinite_f32(near);
  return bitcast<vec4<f32>>(select(cut, bits, as_it_is));
}
fn f32_for_rounding_of_u32(x: vec4<u32>) -> vec4<f32> {
  let cut = select(vec4<u32>(0u), vec4<u32>(256u), (x & vec4<u32>(255u)) != vec4<u32>(0u));
  return vec4<f32>(select(x, (x & ~vec4<u32>(255u)) | cut, x >= vec4<u32>(0x1000000u)));
}
fn f32_for_rounding_of_i32(x: vec4<i32>) -> vec4<f32> {
  let size = f32_for_rounding_of_u32(bitcast<vec4<u32>>(magnitude_i32(x)));
  return choose_f32(x < vec4<i32>(0), op_neg(size), size);
}
/// Without the last `digits`, but for whether there are any.
fn shortened(x: vec4<u64>, digits: u32) -> vec4<u64> {
  let unit = vec4<u64>(u64(1u)) << vec4<u32>(digits);
  let low = unit - vec4<u64>(u64(1u));
  return (x & ~low) | select(vec4<u64>(), unit, (x & low) != vec4<u64>());
}
fn f32_for_rounding_of_u64(x: vec4<u64>) -> vec4<f32> {
  let one = vec4<u64>(u64(1u));
  var near = select(x, shortened(x, 13u), x >= (one << vec4<u32>(24u)));
  near = select(near, shortened(x, 26u), x >= (one << vec4<u32>(37u)));
  return vec4<f32>(select(near, shortened(x, 40u), x >= (one << vec4<u32>(50u))));
}
fn f32_for_rounding_of_i64(x: vec4<i64>) -> vec4<f32> {
  let size = f32_for_rounding_of_u64(bitcast<vec4<u64>>(magnitude_i64(x)));
  return choose_f32(x < vec4<i64>(), op_neg(size), size);
}
