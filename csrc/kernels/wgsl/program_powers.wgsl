// Powers, logarithms and what is made of them.
fn special_of_logarithm(x: vec4<f32>, result: vec4<f32>) -> vec4<f32> {
  var r = choose_f32(!not_zero_f32(x), -infinity(), result);
  r = choose_f32(is_nan(x) | is_infinite_f32(x), x, r);
  return choose_f32(is_negative(x) & not_zero_f32(x) & !is_nan(x), not_a_number(), r);
}
fn logarithm_2_f32(x: vec4<f32>) -> vec4<f32> {
  let l = log2_parts(x);
  return special_of_logarithm(x, l.high + l.low);
}
fn logarithm_10_f32(x: vec4<f32>) -> vec4<f32> {
  // log10 2 in two parts.
  let l = log2_parts(x);
  let rest = kept(l.high * 4.605039e-06) + kept(l.low * 0.30103);
  return special_of_logarithm(x, kept(l.high * 0.301025390625) + rest);
}
fn logarithm_of_one_plus_f32(x: vec4<f32>) -> vec4<f32> {
  // Of the rounded sum, and what its rounding cut off.
  let sum = kept(1.0 + x);
  let cut = select(kept(x - kept(sum - 1.0)), kept(1.0 - kept(sum - x)), op_abs(x) >= splat(1.0));
  let bits = bitcast<vec4<i32>>(sum);
  let exponent = (bits - vec4<i32>(0x3f3504f3)) >> vec4<u32>(23u);
  let f = bitcast<vec4<f32>>(bits - (exponent << vec4<u32>(23u))) - 1.0;
  let result = log_of_parts(fma(cut, power_of_two(vec4<i32>(0) - exponent), f), vec4<f32>(exponent));
  // Finite, and 1e-8 at least.
  let size = bitcast<vec4<u32>>(op_abs(x));
  let plain = (sum > splat(0.0)) & (size - vec4<u32>(0x322bcc77u) < vec4<u32>(0x4d543389u));
  if (all(plain)) { return result; }
  var ends = choose_f32(sum == splat(0.0), -infinity(), x);
  ends = choose_f32(sum < splat(0.0), not_a_number(), ends);
  return choose_f32(plain, result, ends);
}
fn log_add_exp_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let most = maximum_f32(x, y);
  let apart = select(op_abs(kept(x - same_as(y))), splat(0.0), order_of(x) == order_of(y));
  return most + logarithm_of_one_plus_f32(exp_of(-apart));
}
fn exponential_2_f32(x: vec4<f32>) -> vec4<f32> {
  let result = exp2_of(Parts(x, splat(0.0)));
  return choose_f32(is_nan(x), x, choose_f32(x >= splat(128.0), infinity(), result));
}
fn exponential_less_one_f32(x: vec4<f32>) -> vec4<f32> {
  let e = exp_less_one_parts(clamp(x, splat(-20.0), splat(20.0)), splat(0.0));
  let power = power_of_two(e.exponent);
  let near = e.fraction * power + (power - 1.0);
  let result = copy_sign(choose_f32(x > splat(20.0), exp_of(x), near), x);
  return choose_f32(is_nan(x), x, result);
}
/// e^x / 2, which has room where e^x has none.
fn half_power(x: vec4<f32>) -> vec4<f32> {
  let parts = reduced(clamp(x, least_exponent(), splat(92.0)));
  let curve = exp_curve(parts.near + parts.rest);
  let power = scaled(one_plus(parts.near, parts.rest + curve), parts.exponent - vec4<i32>(1));
  return choose_f32(x > splat(89.41599), infinity(), power);
}
fn hyperbolic_sine_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let t = exponential_less_one_f32(min(size, splat(12.0)));
  let near = 0.5 * (t + quotient(t, t + 1.0));
  let result = copy_sign(choose_f32(size > splat(10.0), half_power(size), near), x);
  return choose_f32(is_nan(x) | (size < splat(1e-4)), x, result);
}
fn hyperbolic_cosine_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let half = half_power(size);
  let near = half + 0.25 / half;
  return choose_f32(is_nan(x), x, choose_f32(size > splat(10.0), half, near));
}
fn area_sine_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let a = min(size, splat(1e9));
  let square = a * a;
  let near = logarithm_of_one_plus_f32(a + quotient(square, 1.0 + op_sqrt(1.0 + square)));
  let far = op_log(size) + 0.693147181;
  let result = copy_sign(choose_f32(size > splat(1e8), far, near), x);
  return choose_f32(is_nan(x) | (size < splat(1e-4)), x, result);
}
fn area_cosine_f32(x: vec4<f32>) -> vec4<f32> {
  let t = min(x, splat(1e9)) - 1.0;
  let near = logarithm_of_one_plus_f32(t + op_sqrt(t * (t + 2.0)));
  let far = op_log(x) + 0.693147181;
  let result = choose_f32(x > splat(1e8), far, near);
  return choose_f32(is_nan(x), x, choose_f32(x < splat(1.0), not_a_number(), result));
}
fn area_tangent_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let inside = min(size, splat(0.99999994));
  let near = 0.5 * logarithm_of_one_plus_f32(quotient(2.0 * inside, 1.0 - inside));
  var result = choose_f32(size == splat(1.0), infinity(), near);
  result = copy_sign(choose_f32(size > splat(1.0), not_a_number(), result), x);
  return choose_f32(is_nan(x) | (size < splat(1e-4)), x, result);
}
fn hypotenuse_f32(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let a = maximum_f32(op_abs(x), op_abs(y));
  let b = minimum_f32(op_abs(x), op_abs(y));
  // Near 1, so that no square is too large or too small.
  let e = clamp(vec4<i32>(bitcast<vec4<u32>>(a) >> vec4<u32>(23u)) - vec4<i32>(127),
                vec4<i32>(-126), vec4<i32>(126));
  let unit = power_of_two(vec4<i32>(0) - e);
  let p = a * unit;
  let q = b * unit;
  let root = op_sqrt(p * p + q * q);
  var result = choose_f32(a == splat(0.0), a, root * power_of_two(e));
  result = choose_f32(either_nan(x, y), not_a_number(), result);
  return choose_f32(is_infinite_f32(x) | is_infinite_f32(y), infinity(), result);
}
fn cube_root_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let tiny = size < splat(1.17549435e-38);
  let s = select(size, size * 16777216.0, tiny);
  // A third of the exponent, then Newton's method.
  var root = bitcast<vec4<f32>>(bitcast<vec4<u32>>(s) / vec4<u32>(3u) + vec4<u32>(709921077u));
#for step in 0..3
  root = root - (root - s / (root * root)) * 0.333333333;
#end
  root = root - (root - quotient(s, root * root)) * 0.333333333;
  let result = copy_sign(select(root, root * 0.00390625, tiny), x);
  return choose_f32(is_finite_f32(x) & not_zero_f32(x), result, x);
}
fn error_function_f32(x: vec4<f32>) -> vec4<f32> {
  let size = op_abs(x);
  let s = min(size * size, splat(1.0));
  var p = fma(s, splat(8.32748337e-05), splat(-0.000813321443));
  p = fma(p, s, splat(0.00520026078));
  p = fma(p, s, splat(-0.0268591195));
  p = fma(p, s, splat(0.112836912));
  p = fma(p, s, splat(-0.376126349));
  p = fma(p, s, splat(0.128379166));
  let near = x + x * p;
  // 1 - e^q.
  let t = min(size, splat(4.0));
  var q = fma(t, splat(2.69086001e-07), splat(-3.88326043e-06));
  q = fma(q, t, splat(2.77222671e-06));
  q = fma(q, t, splat(0.000352596544));
  q = fma(q, t, splat(-0.00399890821));
  q = fma(q, t, splat(0.0248905737));
  q = fma(q, t, splat(-0.10808976));
  q = fma(q, t, splat(-0.633440495));
  q = fma(q, t, splat(-1.12949133));
  q = fma(q, t, splat(0.000172670116));
  let far = copy_sign(1.0 - exp_of(q), x);
  return choose_f32(is_nan(x), x, choose_f32(size < splat(0.93), near, far));
}
