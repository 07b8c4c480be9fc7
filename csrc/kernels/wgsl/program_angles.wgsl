// Angles, in radians.

/// a + b for |a| >= |b| or where the sum is exact.
fn sum_of(a: vec4<f32>, b: vec4<f32>) -> Parts {
  let sum = kept(a + b);
  return Parts(sum, kept(b - kept(sum - a)));
}
/// x = quadrant * pi / 2 + high + low, |high| up to pi / 4.
struct Angle { high: vec4<f32>, low: vec4<f32>, quadrant: vec4<i32> }

/// |x| up to 256: the first two parts of pi / 2 have sixteen digits, so that their products with
/// the quadrant are exact, and it is all one whether fma rounds them.
fn angle_of_small(x: vec4<f32>) -> Angle {
  let lifted = fma(x, splat(0.636619772), same_as(splat(12582912.0)));
  let k = lifted - 12582912.0;
  let first = fma(k, splat(-1.570770263671875), x);
  let near = fma(k, splat(-2.6063062250614166e-05), first);
  let rest = fma(k, splat(-6.0771006e-11), fma(k, splat(-2.6063062250614166e-05), kept(first - near)));
  let sum = sum_of(near, rest);
  return Angle(sum.high, sum.low, bitcast<vec4<i32>>(lifted) - vec4<i32>(0x4b400000));
}

struct Product { high: vec4<u32>, low: vec4<u32> }
fn product_of(a: vec4<u32>, b: vec4<u32>) -> Product {
  let a_low = a & vec4<u32>(0xffffu);
  let a_high = a >> vec4<u32>(16u);
  let b_low = b & vec4<u32>(0xffffu);
  let b_high = b >> vec4<u32>(16u);
  let lowest = a_low * b_low;
  let middle = a_high * b_low + (lowest >> vec4<u32>(16u));
  let other = a_low * b_high + (middle & vec4<u32>(0xffffu));
  return Product(a_high * b_high + (middle >> vec4<u32>(16u)) + (other >> vec4<u32>(16u)), a * b);
}
/// The digits of 2 / pi, 32 at a time, behind a word of zeros.
fn digits_of_quadrants(word: u32) -> u32 {
  switch word {
    case 1u: { return 0x28be60dbu; }
    case 2u: { return 0x9391054au; }
    case 3u: { return 0x7f09d5f4u; }
    case 4u: { return 0x7d4d3770u; }
    case 5u: { return 0x36d8a566u; }
    case 6u: { return 0x4f10e410u; }
    case 7u: { return 0x7f9458eau; }
    default: { return 0u; }
  }
}
fn four_digits_of_quadrants(words: vec4<u32>) -> vec4<u32> {
  return vec4<u32>(digits_of_quadrants(words.x), digits_of_quadrants(words.y),
                   digits_of_quadrants(words.z), digits_of_quadrants(words.w));
}
/// x of 1 and more: of its product with 2 / pi, in integers, only the digits around the point
/// count.
fn angle_of_large(x: vec4<f32>) -> Angle {
  let bits = bitcast<vec4<u32>>(x);
  let digits = ((bits & vec4<u32>(0x7fffffu)) << vec4<u32>(8u)) | vec4<u32>(0x80000000u);
  let e = max(((bits >> vec4<u32>(23u)) & vec4<u32>(0xffu)), vec4<u32>(127u)) - vec4<u32>(126u);
  let word = e >> vec4<u32>(5u);
  let shift = e & vec4<u32>(31u);
  let back = (vec4<u32>(32u) - shift) & vec4<u32>(31u);
  let from_next = select(vec4<u32>(0xffffffffu), vec4<u32>(0u), shift == vec4<u32>(0u));
  let w0 = four_digits_of_quadrants(word);
  let w1 = four_digits_of_quadrants(word + vec4<u32>(1u));
  let w2 = four_digits_of_quadrants(word + vec4<u32>(2u));
  let w3 = four_digits_of_quadrants(word + vec4<u32>(3u));
  let high = (w0 << shift) | ((w1 >> back) & from_next);
  let middle = (w1 << shift) | ((w2 >> back) & from_next);
  let low = (w2 << shift) | ((w3 >> back) & from_next);
  // In quadrants, two digits before the point and 62 behind it.
  let of_low = product_of(digits, low);
  let of_middle = product_of(digits, middle);
  var below = of_middle.low + of_low.high;
  let carry = select(vec4<u32>(0u), vec4<u32>(1u), below < of_low.high);
  var above = of_middle.high + carry + digits * high;
  var quadrant = above >> vec4<u32>(30u);
  above &= vec4<u32>(0x3fffffffu);
  let over = (above & vec4<u32>(0x20000000u)) != vec4<u32>(0u);
  quadrant += select(vec4<u32>(0u), vec4<u32>(1u), over);
  // What is over half a quadrant is less than the next one.
  let borrow = select(vec4<u32>(1u), vec4<u32>(0u), below == vec4<u32>(0u));
  above = select(above, vec4<u32>(0x40000000u) - above - borrow, over);
  below = select(below, vec4<u32>(0u) - below, over);
  // The first 24 digits that are not 0, and those behind them.
  let skipped = countLeadingZeros(above);
  let all = skipped >= vec4<u32>(32u);
  let step = skipped & vec4<u32>(31u);
  let into = select((below >> vec4<u32>(1u)) >> (vec4<u32>(31u) - step), vec4<u32>(0u), all);
  let first = select((above << step) | into, below, all);
  let next = select(below << step, vec4<u32>(0u), all);
  let unit = power_of_two(vec4<i32>(-30) - vec4<i32>(skipped));
  let v_first = vec4<f32>(first & vec4<u32>(0xffffff00u)) * unit;
  let v_rest = vec4<f32>((first << vec4<u32>(24u)) | (next >> vec4<u32>(8u))) *
               (unit * 5.9604644775390625e-08);
  let v_high = first_part(v_first);
  let v_low = kept(v_first - v_high) + v_rest;
  // pi / 2 in three parts.
  let sum = sum_of(kept(v_high * 1.5703125),
                   kept(v_high * 0.0004837512969970703) + kept(v_low * 1.5707964) +
                   kept(v_high * 7.549790126404332e-08));
  let negative = select(vec4<u32>(0u), vec4<u32>(0x80000000u), over != is_negative(x));
  return Angle(bitcast<vec4<f32>>(bitcast<vec4<u32>>(sum.high) ^ negative),
               bitcast<vec4<f32>>(bitcast<vec4<u32>>(sum.low) ^ negative),
               select(bitcast<vec4<i32>>(quadrant), vec4<i32>(0) - bitcast<vec4<i32>>(quadrant),
                      is_negative(x)));
}
fn angle_of(x: vec4<f32>) -> Angle {
  let size = op_abs(x);
  let large = !(size <= splat(256.0));
  var angle = angle_of_small(choose_f32(large, splat(0.0), x));
  if (any(large)) {
    let other = angle_of_large(x);
    angle.high = choose_f32(large, other.high, angle.high);
    angle.low = choose_f32(large, other.low, angle.low);
    angle.quadrant = select(angle.quadrant, other.quadrant, large);
  }
  return angle;
}
struct Turn { sine: vec4<f32>, cosine: vec4<f32> }
/// Of the angle without its quadrants.
fn turn_of(angle: Angle) -> Turn {
  let r = angle.high;
  let z = r * r;
  var p = fma(z, splat(2.71821682e-06), splat(-0.000198393245));
  p = fma(p, z, splat(0.00833332911));
  p = fma(p, z, splat(-0.166666672));
  let sine = r + (r * (z * p) + angle.low * (1.0 - 0.5 * z));
  var q = fma(z, splat(-2.72093558e-07), splat(2.47995104e-05));
  q = fma(q, z, splat(-0.00138888834));
  q = fma(q, z, splat(0.0416666679));
  // Half of it is exact.
  let half = 0.5 * z;
  let below = kept(1.0 - half);
  let cosine = below + (((1.0 - below) - half) + (z * (z * q) - r * angle.low));
  return Turn(sine, cosine);
}
fn with_sign(x: vec4<f32>, turned: vec4<bool>) -> vec4<f32> {
  return choose_f32(turned, op_neg(x), x);
}
fn sine_f32(x: vec4<f32>) -> vec4<f32> {
  let angle = angle_of(x);
  let turn = turn_of(angle);
  let odd = (angle.quadrant & vec4<i32>(1)) != vec4<i32>(0);
  let back = (angle.quadrant & vec4<i32>(2)) != vec4<i32>(0);
  let result = with_sign(choose_f32(odd, turn.cosine, turn.sine), back);
  return choose_f32(op_abs(x) < splat(1e-4), x,
                    choose_f32(is_finite_f32(x), result, not_a_number()));
}
fn cosine_f32(x: vec4<f32>) -> vec4<f32> {
  let angle = angle_of(x);
  let turn = turn_of(angle);
  let odd = (angle.quadrant & vec4<i32>(1)) != vec4<i32>(0);
  let back = ((angle.quadrant + vec4<i32>(1)) & vec4<i32>(2)) != vec4<i32>(0);
  let result = with_sign(choose_f32(odd, turn.sine, turn.cosine), back);
  return choose_f32(is_finite_f32(x), result, not_a_number());
}
fn tangent_f32(x: vec4<f32>) -> vec4<f32> {
  let angle = angle_of(x);
  let turn = turn_of(angle);
  let odd = (angle.quadrant & vec4<i32>(1)) != vec4<i32>(0);
  let above = choose_f32(odd, op_neg(turn.cosine), turn.sine);
  let result = quotient(above, choose_f32(odd, turn.sine, turn.cosine));
  return choose_f32(op_abs(x) < splat(1e-4), x,
                    choose_f32(is_finite_f32(x), result, not_a_number()));
}

/// z + z^3 ... for |z| up to tan(pi / 8).
fn arc_tangent_near(z: vec4<f32>) -> vec4<f32> {
  let s = z * z;
  var p = fma(s, splat(-0.0608173311), splat(0.105953552));
  p = fma(p, s, splat(-0.142437667));
  p = fma(p, s, splat(0.199984848));
  p = fma(p, s, splat(-0.333333164));
  return z * (s * p);
}
/// Of above / below, which are in order: 0 <= above <= below. In two parts.
fn arc_tangent_of(above: vec4<f32>, below: vec4<f32>, ratio: vec4<f32>) -> Parts {
  let far = ratio > splat(0.41421357);
  // tan(a - pi / 4) = (above - below) / (above + below)
  let z = choose_f32(far, quotient(ratio - 1.0, ratio + 1.0), ratio);
  let curve = arc_tangent_near(z);
  let base = select(splat(0.0), splat(0.78539819), far);
  let rest = select(splat(0.0), splat(-2.18556951e-08), far);
  let sum = sum_of(base, z);
  return Parts(sum.high, sum.low + (curve + rest));
}
fn arc_tangent_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let steep = size > splat(1.0);
  let ratio = choose_f32(steep, op_reciprocal(size), size);
  let near = arc_tangent_of(ratio, splat(1.0), ratio);
  let other = sum_of(splat(1.5707964), -near.high);
  let result = choose_f32(steep, other.high + (other.low - near.low - 4.37113901e-08),
                          near.high + near.low);
  return choose_f32(is_nan(x) | (size < splat(1e-4)), x, copy_sign(result, x));
}
fn arc_tangent_2_f32(y: vec4<f32>, x: vec4<f32>) -> vec4<f32> {
  let a = op_abs(y);
  let b = op_abs(x);
  let steep = order_of(a) > order_of(b);
  let above = choose_f32(steep, b, a);
  let below = choose_f32(steep, a, b);
  var ratio = quotient(above, below);
  ratio = choose_f32(!not_zero_f32(above), splat(0.0), ratio);
  ratio = choose_f32(is_infinite_f32(above), splat(1.0), ratio);
  let near = arc_tangent_of(above, below, ratio);
  let other = sum_of(splat(1.5707964), -near.high);
  var high = choose_f32(steep, other.high, near.high);
  var low = choose_f32(steep, other.low - near.low - 4.37113901e-08, near.low);
  let left = sum_of(splat(3.1415927), -high);
  low = choose_f32(is_negative(x), left.low - low - 8.74227801e-08, low);
  high = choose_f32(is_negative(x), left.high, high);
  return choose_f32(either_nan(x, y), not_a_number(), copy_sign(high + low, y));
}
/// What arcs of sines up to 1 / 2 have beyond their sine.
fn arc_sine_curve(z: vec4<f32>) -> vec4<f32> {
  var p = fma(z, splat(0.0375651531), splat(0.0144026382));
  p = fma(p, z, splat(0.0318176039));
  p = fma(p, z, splat(0.0445157215));
  p = fma(p, z, splat(0.0750051066));
  p = fma(p, z, splat(0.166666597));
  return z * p;
}
fn arc_sine_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let far = size > splat(0.5);
  let z = select(size * size, 0.5 * (1.0 - size), far);
  let s = choose_f32(far, op_sqrt(max(z, splat(0.0))), size);
  let arc = s + s * arc_sine_curve(z);
  let result = choose_f32(far, 1.5707964 - (2.0 * arc + 4.37113901e-08), arc);
  let known = choose_f32(size > splat(1.0), not_a_number(), copy_sign(result, x));
  return choose_f32(is_nan(x) | (size < splat(1e-4)), x, known);
}
fn arc_cosine_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let far = size > splat(0.5);
  let z = select(size * size, 0.5 * (1.0 - size), far);
  let s = choose_f32(far, op_sqrt(max(z, splat(0.0))), x);
  let curve = s * arc_sine_curve(z);
  let twice = 2.0 * (s + curve);
  let left = sum_of(splat(3.1415927), -2.0 * s);
  let other = left.high + (left.low - (2.0 * curve + 8.74227801e-08));
  let middle = sum_of(splat(1.5707964), -s);
  let near = middle.high + (middle.low - (curve + 4.37113901e-08));
  let result = choose_f32(far, choose_f32(is_negative(x), other, twice), near);
  return choose_f32(is_nan(x), x, choose_f32(size > splat(1.0), not_a_number(), result));
}
