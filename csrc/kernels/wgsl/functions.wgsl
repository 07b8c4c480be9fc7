// Elementary functions on four float32. NaN is told by its bits, since a compiler may take x != x
// for false; nothing relies on an infinity coming out of an overflow.
// Around this file: params.zero, which is 0 and which no compiler knows: a constant added and taken
// away again rounds to whole steps, unless a compiler sees both.
// Variables: T; EXACT (1: the language's own exp, division and root are as exact). What is rounded to
// float16 in the end needs fewer digits and no results below 2^-126.
#let HALF = T == "f16"
fn is_nan(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
}
fn splat(x: f32) -> vec4<f32> { return vec4<f32>(x); }
// In variables, since some compilers refuse constants that are not finite.
fn infinity() -> vec4<f32> {
  var bits = vec4<u32>(0x7f800000u);
  return bitcast<vec4<f32>>(bits);
}
fn not_a_number() -> vec4<f32> {
  var bits = vec4<u32>(0x7fc00000u);
  return bitcast<vec4<f32>>(bits);
}
fn is_negative(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) >> vec4<u32>(31u)) != vec4<u32>(0u);
}
fn copy_sign(x: vec4<f32>, sign_of: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>((bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) |
                            (bitcast<vec4<u32>>(sign_of) & vec4<u32>(0x80000000u)));
}
/// 2^e for whole e in [-126, 127].
fn power_of_two(e: vec4<i32>) -> vec4<f32> {
  return bitcast<vec4<f32>>((e + vec4<i32>(127)) << vec4<u32>(23u));
}
/// x * 2^e for whole e in [-252, 254], for float16 in [-126, 127], rounded once.
fn scaled(x: vec4<f32>, e: vec4<i32>) -> vec4<f32> {
#if HALF
  return x * power_of_two(e);
#else
  let half = e >> vec4<u32>(1u);
  return x * power_of_two(half) * power_of_two(e - half);
#end
}
/// Below the one e^x is nothing, above the other no number.
#if HALF
fn least_exponent() -> vec4<f32> { return splat(-80.0); }
fn most_exponent() -> vec4<f32> { return splat(88.0); }
#else
fn least_exponent() -> vec4<f32> { return splat(-110.0); }
fn most_exponent() -> vec4<f32> { return splat(90.0); }
#end
/// x ^ 0, which compilers take for another number.
fn same_as(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(params.zero));
}

/// x = exponent * ln 2 + near, |near| up to ln 2 / 2 and exact but for `rest`, which comes on top.
/// |x| up to 170.
struct Reduced { near: vec4<f32>, rest: vec4<f32>, exponent: vec4<i32> }
fn reduced(x: vec4<f32>) -> Reduced {
  let lifted = fma(x, splat(1.44269504), same_as(splat(12582912.0)));
  let e = lifted - 12582912.0;
  // Compilers join products with one factor, which this must not be.
  return Reduced(fma(e, splat(-0.693145752), x), same_as(e) * -1.42860677e-06,
                 bitcast<vec4<i32>>(lifted) - vec4<i32>(0x4b400000));
}
/// e^r - 1 - r for |r| up to ln 2 / 2.
fn exp_curve(r: vec4<f32>) -> vec4<f32> {
  var p = fma(r, splat(0.001382011), splat(0.008368685));
  p = fma(p, r, splat(0.041668274));
  p = fma(p, r, splat(0.16666521));
  p = fma(p, r, splat(0.49999994));
  return r * r * p;
}
/// 1 + near + rest. What of `near` the sum with 1 can hold is added exactly.
fn one_plus(near: vec4<f32>, rest: vec4<f32>) -> vec4<f32> {
#if HALF
  return 1.0 + (near + rest);
#else
  let high = (near + same_as(splat(3072.0))) - 3072.0;
  return (1.0 + high) + ((near - high) + rest);
#end
}

/// e^(x + rest) - 1 before scaling, and the exponent to scale by. |x| up to 170.
struct Scaled { fraction: vec4<f32>, exponent: vec4<i32> }
fn exp_less_one_parts(x: vec4<f32>, rest: vec4<f32>) -> Scaled {
  let parts = reduced(x);
  let r = parts.near + (parts.rest + rest);
  return Scaled(r + exp_curve(r), parts.exponent);
}
#if EXACT
fn exp_of(x: vec4<f32>) -> vec4<f32> { return exp(x); }
#else
fn exp_of(x: vec4<f32>) -> vec4<f32> {
  let parts = reduced(clamp(x, least_exponent(), most_exponent()));
  let curve = exp_curve(parts.near + parts.rest);
  let power = scaled(one_plus(parts.near, parts.rest + curve), parts.exponent);
#if HALF
  return select(power, x, is_nan(x));
#else
  let result = select(power, infinity(), x > splat(88.722839));
  return select(result, x, is_nan(x));
#end
}
#end
/// x * sigmoid(y) for y of the sign of x, scaled last where it is small.
fn times_sigmoid(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let e = exp_less_one_parts(max(-abs(y), least_exponent()), splat(0.0));
  let f = e.fraction + 1.0;
  let below = 1.0 + scaled(f, e.exponent);
  let small = scaled(max(x, splat(-150.0)) * f / below, e.exponent);
  return select(select(x / below, small, x < splat(0.0)), x, is_nan(x));
}

fn op_relu(x: vec4<f32>) -> vec4<f32> { return select(max(x, splat(0.0)), x, is_nan(x)); }
fn op_abs(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu));
}
fn op_neg(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(0x80000000u));
}
fn op_square(x: vec4<f32>) -> vec4<f32> { return x * x; }
fn op_exp(x: vec4<f32>) -> vec4<f32> { return exp_of(x); }
fn op_sigmoid(x: vec4<f32>) -> vec4<f32> {
  let e = exp_less_one_parts(max(-abs(x), least_exponent()), splat(0.0));
  let power = scaled(e.fraction + 1.0, e.exponent);
  return select(select(splat(1.0), power, x < splat(0.0)) / (1.0 + power), x, is_nan(x));
}
fn op_tanh(x: vec4<f32>) -> vec4<f32> {
  // Of e^(-2|x|) - 1 = d, which keeps its digits near 0: tanh |x| = -d / (2 + d).
  let e = exp_less_one_parts(max(abs(x) * -2.0, splat(-40.0)), splat(0.0));
  let power = power_of_two(e.exponent);
  let d = fma(e.fraction, power, power - 1.0);
  return copy_sign(select(d / (2.0 + d), x, is_nan(x)), x);
}
/// log(1 + f) + e ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1].
fn log_of_parts(f: vec4<f32>, e: vec4<f32>) -> vec4<f32> {
  var p = fma(f, splat(0.0674919), splat(-0.11670025));
  p = fma(p, f, splat(0.118835375));
  p = fma(p, f, splat(-0.1240624));
  p = fma(p, f, splat(0.1422036));
  p = fma(p, f, splat(-0.16667989));
  p = fma(p, f, splat(0.20002072));
  p = fma(p, f, splat(-0.2500001));
  p = fma(p, f, splat(0.33333313));
  let f2 = f * f;
  return fma(e, splat(0.693145752), f + (f * f2 * p + e * 1.42860677e-06 - f2 * 0.5));
}
fn op_log(x: vec4<f32>) -> vec4<f32> {
  let tiny = x < splat(1.17549435e-38);
  let bits = bitcast<vec4<i32>>(select(x, x * 8388608.0, tiny));
  let exponent = (bits - vec4<i32>(0x3f3504f3)) >> vec4<u32>(23u);
  let f = bitcast<vec4<f32>>(bits - (exponent << vec4<u32>(23u))) - 1.0;
  let e = vec4<f32>(exponent - select(vec4<i32>(0), vec4<i32>(23), tiny));
  var result = select(log_of_parts(f, e), -infinity(), x == splat(0.0));
  result = select(result, x, is_nan(x) | (op_abs(x) == infinity()));
  return select(result, not_a_number(), x < splat(0.0));
}
#if EXACT
fn op_sqrt(x: vec4<f32>) -> vec4<f32> { return sqrt(x); }
fn quotient(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return x / y; }
fn op_rsqrt(x: vec4<f32>) -> vec4<f32> { return op_reciprocal(op_sqrt(x)); }
#else
/// Whether this device rounds fma once, which the language leaves open: then the square of 1 + 2^-12
/// keeps its last digit.
fn is_fused() -> bool {
  let x = bitcast<f32>(0x3f800800u ^ params.zero);
  return fma(x, x, -bitcast<f32>(0x3f801000u ^ params.zero)) != 0.0;
}
fn op_sqrt(x: vec4<f32>) -> vec4<f32> {
  // One step of Newton's method on what the device gives: exact where it is exact already.
  let inside = (x > splat(0.0)) & (x < infinity());
  let safe = select(splat(1.0), x, inside);
  let tiny = safe < splat(1.0e-30);
  let s = select(safe, safe * 1.8446744e19, tiny);
  let root = sqrt(s);
  let unscale = select(splat(1.0), splat(2.32830644e-10), tiny);
  let better = fma(fma(-root, root, s), 0.5 / root, root) * unscale;
  return select(select(x, better, inside), not_a_number(), x < splat(0.0));
}
/// x / y rounded to nearest, of which devices only come close.
fn quotient(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let size_x = bitcast<vec4<u32>>(op_abs(x));
  let size_y = bitcast<vec4<u32>>(op_abs(y));
  // From 2^-60 to 2^60, or 0, no step leaves the normal numbers, and every remainder is exact.
  let is_near = ((size_x - vec4<u32>(0x21800000u) < vec4<u32>(0x3c000000u)) | (size_x == vec4<u32>(0u))) &
                (size_y - vec4<u32>(0x21800000u) < vec4<u32>(0x3c000000u));
  if (all(is_near) && is_fused()) {
    let start = 1.0 / y;
    let inverse = fma(start, fma(-y, start, splat(1.0)), start);
    var near = x * inverse;
    near = fma(fma(-y, near, x), inverse, near);
    near = fma(fma(-y, near, x), inverse, near);
    return copy_sign(near, bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ bitcast<vec4<u32>>(y)));
  }
  return quotient_of_any(x, y, size_x, size_y);
}
/// The quotient of the fractions is put right by its remainder, in integers unless fma rounds once.
/// What is subnormal, infinite or no number, operand or quotient, is left to the device.
fn quotient_of_any(x: vec4<f32>, y: vec4<f32>, size_x: vec4<u32>, size_y: vec4<u32>) -> vec4<f32> {
  // Fractions in [1, 2), whose quotient is as well once that of x is doubled where it is smaller.
  let above = bitcast<vec4<f32>>((size_x & vec4<u32>(0x7fffffu)) | vec4<u32>(0x3f800000u));
  let below = bitcast<vec4<f32>>((size_y & vec4<u32>(0x7fffffu)) | vec4<u32>(0x3f800000u));
  let smaller = above < below;
  let inverse = 1.0 / below;
  let raised = select(above, 2.0 * above, smaller);
  var near = raised * inverse;
  var digits: vec4<u32>;
  if (is_fused()) {
    near = fma(fma(-near, below, raised), inverse, near);
    // What is left is exact; twice that beside the last digit's worth of y.
    let rest = fma(-near, below, raised) * 16777216.0;
    digits = bitcast<vec4<u32>>(near) + select(vec4<u32>(0u), vec4<u32>(1u), rest > below) -
             select(vec4<u32>(0u), vec4<u32>(1u), rest < -below);
  } else {
    let divisor = (bitcast<vec4<i32>>(below) & vec4<i32>(0x7fffff)) | vec4<i32>(0x800000);
    let dividend = (bitcast<vec4<i32>>(above) & vec4<i32>(0x7fffff)) | vec4<i32>(0x800000);
    digits = bitcast<vec4<u32>>(near);
    // Small, so that it survives the overflow of both terms.
    let whole = bitcast<vec4<i32>>(digits) - vec4<i32>(0x3f000000);
    var rest = (dividend << select(vec4<u32>(23u), vec4<u32>(24u), smaller)) - whole * divisor;
    let lifted =
        fma(vec4<f32>(rest), inverse * 1.1920929e-07, same_as(splat(12582912.0)));
    let off = bitcast<vec4<i32>>(lifted) - vec4<i32>(0x4b400000);
    rest -= off * divisor;
    digits += bitcast<vec4<u32>>(off) + select(vec4<u32>(0u), vec4<u32>(1u), rest * 2 > divisor) -
              select(vec4<u32>(0u), vec4<u32>(1u), rest * 2 < -divisor);
  }
  let e = vec4<i32>(size_x >> vec4<u32>(23u)) - vec4<i32>(size_y >> vec4<u32>(23u)) -
          select(vec4<i32>(0), vec4<i32>(1), smaller);
  let sign_of = bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ bitcast<vec4<u32>>(y));
  let result = copy_sign(
      bitcast<vec4<f32>>(digits + (bitcast<vec4<u32>>(e) << vec4<u32>(23u))), sign_of);
  let plain = (size_x - vec4<u32>(0x800000u) < vec4<u32>(0x7f000000u)) &
              (size_y - vec4<u32>(0x800000u) < vec4<u32>(0x7f000000u));
  let is_ready = plain & (e > vec4<i32>(-127)) & (e < vec4<i32>(128));
  if (all(is_ready)) { return result; }
  // Devices without subnormals take one over a large y for 0, which infinity must not meet.
  let endless = ((size_x == vec4<u32>(0x7f800000u)) & (size_y < vec4<u32>(0x7f800000u))) |
                (plain & (e > vec4<i32>(127)));
  return select(select(x / y, copy_sign(infinity(), sign_of), endless), result, is_ready);
}
fn op_rsqrt(x: vec4<f32>) -> vec4<f32> {
  if (!is_fused()) { return op_reciprocal(op_sqrt(x)); }
  let inside = (x > splat(0.0)) & (x < infinity());
  let safe = select(splat(1.0), x, inside);
  let tiny = safe < splat(1.0e-30);
  let s = select(safe, safe * 1.8446744e19, tiny);
  let inverse = inverseSqrt(s);
  // 1 - s * inverse^2, of which the product of the first two is in two parts.
  let root = s * inverse;
  let off = fma(-root, inverse, splat(1.0)) - fma(s, inverse, -root) * inverse;
  let better = fma(0.5 * inverse, off, inverse) * select(splat(1.0), splat(4.2949673e9), tiny);
  if (all(inside)) { return better; }
  return select(op_reciprocal(op_sqrt(x)), better, inside);
}
#end
fn op_reciprocal(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let result = select(quotient(splat(1.0), x), copy_sign(infinity(), x), size < splat(2.9387359e-39));
  return select(select(result, copy_sign(splat(0.0), x), size == infinity()), x, is_nan(x));
}
fn op_silu(x: vec4<f32>) -> vec4<f32> { return times_sigmoid(x, x); }
fn op_gelu_tanh(x: vec4<f32>) -> vec4<f32> {
  // (1 + tanh u) / 2 is sigmoid(2u); sqrt(2 / pi) and 0.044715 sqrt(2 / pi), doubled.
  return times_sigmoid(x, x * (1.5957691 + 0.071354814 * (x * x)));
}
fn op_gelu(x: vec4<f32>) -> vec4<f32> {
  // max(x, 0) - a * Phi(-a) for a = |x|, whose error counts beside x. So the polynomial for
  // log2 Phi(-a) has the digits that this takes near 0, less beyond, and 14 bits of Phi at a = 6.
  let a = min(abs(x), splat(12.938));
  var p = fma(a, splat(-6.743346e-09), splat(2.8344232e-07));
  p = fma(p, a, splat(-4.8011115e-06));
  p = fma(p, a, splat(4.1311076e-05));
  p = fma(p, a, splat(-0.00016437388));
  p = fma(p, a, splat(-0.00022098493));
  p = fma(p, a, splat(0.0071885982));
  p = fma(p, a, splat(-0.05258246));
  p = fma(p, a, splat(-0.4591826));
  p = fma(p, a, splat(-1.1511075));
  p = fma(p, a, splat(-1.0));
  let lifted = p + same_as(splat(12582912.0));
  let f = p - (lifted - 12582912.0);
  var q = fma(f, splat(0.0013264727), splat(0.009671513));
  q = fma(q, f, splat(0.055507336));
  q = fma(q, f, splat(0.24022242));
  q = fma(q, f, splat(0.693147));
  q = fma(q, f, splat(1.0));
  // The whole part of p goes where the exponent is.
  let exponent = bitcast<vec4<i32>>(lifted) << vec4<u32>(23u);
  let tail = a * bitcast<vec4<f32>>(bitcast<vec4<i32>>(q) + exponent);
  return select(select(x - tail, -tail, x < splat(0.0)), x, is_nan(x));
}
