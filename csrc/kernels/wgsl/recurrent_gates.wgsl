// What the gates of recurrent layers compute, in SUM. Parameters have flags: 1 reverse, 2 lengths are
// given, 4 biases or 1024 peepholes are, 8 relu in place of tanh, 16 what goes into gates is clipped.
// Around this file: params.flags, params.clip, params.zero.
// Variables: T (f32, f16 or f64).
#let SUM = "f32"
fn is_set(flag: u32) -> bool { return (params.flags & flag) != 0u; }
#if T == "f64"
#let SUM = "f64"
fn clipped(x: f64) -> f64 {
  let clip = f64(params.clip);
  if (!is_set(16u)) { return x; }
  if (x > clip) { return clip; }
  if (x < -clip) { return -clip; }
  return x;
}
/// e^y as (1 + more) * power, for y that is not above 0. No compiler has it of float64.
struct Power { more: f64, power: f64 }
fn power_of_e(y: f64) -> Power {
  var x = y;
  if (x < f64(-700)) { x = f64(-700); }
  let k = round(x * 1.4426950408889634lf);
  let r = fma(k, -1.9082149292705877e-10lf, fma(k, -0.6931471803691238lf, x));
  var p = 1.6059043836821613e-10lf;
  p = fma(p, r, 2.08767569878681e-9lf);
  p = fma(p, r, 2.505210838544172e-8lf);
  p = fma(p, r, 2.755731922398589e-7lf);
  p = fma(p, r, 2.7557319223985893e-6lf);
  p = fma(p, r, 2.48015873015873e-5lf);
  p = fma(p, r, 1.984126984126984e-4lf);
  p = fma(p, r, 1.388888888888889e-3lf);
  p = fma(p, r, 8.333333333333333e-3lf);
  p = fma(p, r, 4.1666666666666664e-2lf);
  p = fma(p, r, 0.16666666666666666lf);
  p = fma(p, r, 0.5lf);
  return Power(fma(r * r, p, r), bitcast<f64>(u64(u32(i32(k) + 1023)) << 52u));
}
fn sigmoid(x: f64) -> f64 {
  let y = clipped(x);
  let e = power_of_e(-abs(y));
  let power = fma(e.more, e.power, e.power);
  return select(f64(1), power, y < f64(0)) / (f64(1) + power);
}
fn bent(x: f64) -> f64 {
  // Of e^(-2|x|) - 1 = d: tanh |x| = -d / (2 + d).
  let y = clipped(x);
  let e = power_of_e(f64(-2) * abs(y));
  let d = fma(e.more, e.power, e.power - f64(1));
  let size = d / (f64(2) + d);
  return select(-size, size, y < f64(0));
}
fn rectified(x: f64) -> f64 {
  if (x < f64(0)) { return f64(0); }
  return x;
}
#else
#include "functions.wgsl"
fn clipped(x: f32) -> f32 {
  if (!is_set(16u) || is_nan(splat(x)).x) { return x; }
  return clamp(x, -params.clip, params.clip);
}
fn sigmoid(x: f32) -> f32 { return op_sigmoid(splat(clipped(x))).x; }
fn bent(x: f32) -> f32 { return op_tanh(splat(clipped(x))).x; }
fn rectified(x: f32) -> f32 { return op_relu(splat(x)).x; }
#end

fn rnn(x: ${SUM}) -> ${SUM} {
  if (is_set(8u)) { return rectified(clipped(x)); }
  return bent(x);
}
/// The cell state behind a step, and the hidden one.
struct Lstm { cell: ${SUM}, hidden: ${SUM} }
fn lstm(i: ${SUM}, f: ${SUM}, g: ${SUM}, o: ${SUM}, cell: ${SUM}, peep_i: ${SUM}, peep_f: ${SUM},
        peep_o: ${SUM}) -> Lstm {
  let kept = sigmoid(f + peep_f * cell) * cell;
  let next = kept + sigmoid(i + peep_i * cell) * bent(g);
  return Lstm(next, sigmoid(o + peep_o * next) * bent(next));
}
/// `n` is what goes into tanh.
fn mixed(z: ${SUM}, n: ${SUM}, before: ${SUM}) -> ${SUM} {
  return (${SUM}(1) - z) * bent(n) + z * before;
}
/// The place of step t of a sequence; behind its end it is where the output is 0.
fn place_of(t: u32, length: u32) -> u32 {
  if (is_set(1u) && t < length) { return length - 1u - t; }
  return t;
}
