// Elementwise functions of two vectors of four float32, after functions.wgsl.
fn op_add(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return x + y; }
fn op_sub(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return x - y; }
fn op_mul(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return x * y; }
fn op_div(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> { return quotient(x, y); }
fn op_max(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return select(select(select(y, x, x > y), y, is_nan(y)), x, is_nan(x));
}
fn op_min(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  return select(select(select(y, x, x < y), y, is_nan(y)), x, is_nan(x));
}

#if OP == "pow"
// pow works on numbers in two parts, the first of twelve digits, so that products of first parts
// are exact. `kept` holds a value that compilers would otherwise see through and join with others.
fn kept(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(params.zero));
}
fn first_part(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xfffff000u));
}
struct Parts { high: vec4<f32>, low: vec4<f32> }

/// log2 of 2^-lifted times the number of these bits, which is above 0, to about 36 digits.
fn log2_of_bits(bits: vec4<i32>, lifted: vec4<i32>) -> Parts {
  let exponent = (bits - vec4<i32>(0x3f3504f3)) >> vec4<u32>(23u);
  let m = bitcast<vec4<f32>>(bits - (exponent << vec4<u32>(23u)));
  let e = vec4<f32>(exponent - lifted);
  // With s = f / (2 + f), log2 (1 + f) = s (c0 + c1 s^2 + c2 s^4 ...); c0 and c1 in two parts.
  let f = kept(m - 1.0);
  let f_high = first_part(f);
  let f_low = kept(f - f_high);
  let share = 1.0 / (2.0 + f);
  let s_high = first_part(f * share);
  let s_rest = kept(kept(kept(f - 2.0 * s_high) - kept(s_high * f_high)) - kept(s_high * f_low));
  let s_low = kept(s_rest * share);
  let square = kept(s_high * s_high);
  let square_high = first_part(square);
  let square_low = kept(kept(square - square_high) + kept(s_low * (2.0 * s_high + s_low)));
  let s2 = kept(square_high + square_low);
  var p = fma(s2, splat(0.2825804), splat(0.31993166));
  p = fma(p, s2, splat(0.4122085));
  p = fma(p, s2, splat(0.5770779));
  let t_high = kept(square_high * 0.961669921875);
  let t_low = kept(kept(square_low * 0.961669921875) + s2 * fma(p, s2, splat(0.00012677218)));
  let w_high = first_part(2.884765625 + t_high);
  let w_low = kept(kept(kept(2.884765625 - w_high) + t_high) + kept(0.00062445679 + t_low));
  let high = kept(s_high * w_high);
  let low = kept(kept(s_high * w_low) + kept(s_low * (w_high + w_low)));
  let sum = first_part(e + high);
  return Parts(sum, kept(kept(kept(e - sum) + high) + low));
}

/// log2 of a > 0, however small, to about 36 digits.
fn log2_parts(a: vec4<f32>) -> Parts {
  let tiny = a < splat(1.17549435e-38);
  let bits = bitcast<vec4<i32>>(select(a, a * 8388608.0, tiny));
  return log2_of_bits(bits, select(vec4<i32>(0), vec4<i32>(23), tiny));
}

/// log2 of a to the power of y.
fn log2_of_power(l: Parts, y: vec4<f32>) -> Parts {
  let y_high = first_part(y);
  let y_low = kept(y - y_high);
  return Parts(kept(y_high * l.high), kept(kept(y_high * l.low) + kept(y_low * (l.high + l.low))));
}

/// 2^(f_high + f_low), where f is their sum and about as large as 1/2 at most.
fn exp2_parts(f: vec4<f32>, f_high: vec4<f32>, f_low: vec4<f32>) -> vec4<f32> {
  var q = fma(f, splat(1.53067084e-05), splat(0.000154631089));
  q = fma(q, f, splat(0.00133334636));
  q = fma(q, f, splat(0.00961804885));
  q = fma(q, f, splat(0.0555041093));
  q = fma(q, f, splat(0.24022651));
  // ln 2 in two parts.
  let low = kept(f_low * 0.693115234375) + kept(f * 3.19461833e-05) + f * f * q;
  return one_plus(kept(f_high * 0.693115234375), low);
}

/// 2^z, wherever it lies.
fn exp2_of(z: Parts) -> vec4<f32> {
#if HALF
#let LEAST = -120
#let MOST = 120
#else
#let LEAST = -160
#let MOST = 140
#end
  let near_z = clamp(z.high + z.low, splat(${LEAST}.0), splat(${MOST}.0));
  let whole = vec4<i32>(round(near_z));
  let f_first = kept(clamp(z.high, splat(${LEAST - 1}.0), splat(${MOST + 1}.0)) - vec4<f32>(whole));
  let rest = clamp(z.low, splat(-1.0), splat(1.0));
  let f = clamp(f_first + rest, splat(-0.51), splat(0.51));
  let f_high = first_part(f);
  // Little, but where z is clamped: the sum with 1 stays above 0.
  let f_low = clamp(kept(kept(f_first - f_high) + rest), splat(-0.001), splat(0.001));
  return scaled(exp2_parts(f, f_high, f_low), whole);
}

fn any_power(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  let a = op_abs(x);
  let l = log2_parts(a);
  // Beyond 2^34 every power but those of 1 is 0 or infinite.
  let z = log2_of_power(l, clamp(y, splat(-17179869184.0), splat(17179869184.0)));
  var result = select(exp2_of(z), infinity(), z.high + z.low >= splat(128.0));
  let y_negative = y < splat(0.0);
  result = select(result, select(splat(0.0), infinity(), y_negative), a == splat(0.0));
  result = select(result, select(infinity(), splat(0.0), y_negative), a == infinity());
  let endless = op_abs(y) == infinity();
  let grows = (a > splat(1.0)) != y_negative;
  result = select(result, select(splat(0.0), infinity(), grows), endless);
  let size = min(op_abs(y), splat(16777216.0));
  let is_whole = trunc(size) == size;
  let is_odd = is_whole & ((vec4<u32>(size) & vec4<u32>(1u)) == vec4<u32>(1u));
  result = select(result, op_neg(result), is_negative(x) & is_odd);
  result = select(result, not_a_number(),
                  (x < splat(0.0)) & (x > -infinity()) & !is_whole & !endless);
  result = select(result, x + y, is_nan(x) | is_nan(y));
  let one = (y == splat(0.0)) | (x == splat(1.0)) | ((a == splat(1.0)) & endless);
  return select(result, splat(1.0), one);
}

fn all_of(x: vec4<bool>) -> bool { return x.x && x.y && x.z && x.w; }

fn op_pow(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
  // Bases that are positive and of the usual kind, powers below 2^34, results within 2^+-126.
  let x_bits = bitcast<vec4<u32>>(x);
  let y_size = bitcast<vec4<u32>>(y) & vec4<u32>(0x7fffffffu);
  if (all_of((x_bits - vec4<u32>(0x800000u) < vec4<u32>(0x7f000000u)) &
             (y_size < vec4<u32>(0x50800000u)))) {
    let z = log2_of_power(log2_of_bits(bitcast<vec4<i32>>(x), vec4<i32>()), y);
    let near = z.high + z.low;
    if (all_of(op_abs(near) < splat(126.0))) {
      let whole = round(near);
      let f_first = kept(z.high - whole);
      let f = f_first + z.low;
      let f_high = first_part(f);
      let f_low = kept(kept(f_first - f_high) + z.low);
      return exp2_parts(f, f_high, f_low) * power_of_two(vec4<i32>(whole));
    }
  }
  return any_power(x, y);
}
#end
