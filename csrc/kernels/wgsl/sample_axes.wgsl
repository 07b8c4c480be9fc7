// Where grid_sample finds the elements of a point: along an axis PER taps, each with its place,
// 0xffffffff outside of the input, and its weight, with SLOPES also what the coordinate changes it by.
// Around this file: stored_floats.wgsl; params.length0 to params.length2, depth, height and width.
// Variables: T, MODE, PADDING, ALIGNED (1: -1 and 1 are the middles of the elements at the edges),
// SLOPES.
#let PER = 2
#if MODE == "nearest"
#let PER = 1
#elif MODE == "bicubic"
#let PER = 4
#end
#if T == "f64"
#let BITS = "u64"
#let SIZE = "0x7ffffffffffffffflu"
#let INFINITE = "0x7ff0000000000000lu"
#else
#let BITS = "u32"
#let SIZE = "0x7fffffffu"
#let INFINITE = "0x7f800000u"
#end
struct Axis {
#for k in 0..PER
  at${k}: u32,
  weight${k}: ${F},
#if SLOPES
  slope${k}: ${F},
#end
#end
}
struct Place { x: ${F}, turn: ${F} }

fn is_finite(x: ${F}) -> bool { return (bitcast<${BITS}>(x) & ${SIZE}) < ${INFINITE}; }
fn inside(at: i32, length: u32) -> u32 {
  let place = u32(at);
  return select(0xffffffffu, place, place < length);
}
/// What i32 counts.
fn within_counts(x: ${F}) -> ${F} {
  let far = ${F}(1073741824.0);
  return select(select(x, far, x > far), -far, x < -far);
}
/// The place that a coordinate says, and its slope.
fn place_of(coordinate: ${F}, size: ${F}) -> Place {
  let one = ${F}(1.0);
  let half = ${F}(0.5);
  let far = ${F}(1073741824.0);
  var scale = size * half;
  var x = ((coordinate + one) * size - one) * half;
#if ALIGNED
  scale = (size - one) * half;
  x = (coordinate + one) * half * (size - one);
#end
  if (!is_finite(x)) {
    // NaN is taken for -infinity, and in mirrors both for the first element.
    x = select(-far, far, bitcast<${BITS}>(x) == ${INFINITE});
#if PADDING == "reflection"
    x = ${F}();
    scale = ${F}();
#end
  }
  return Place(x, scale);
}
#if MODE == "bicubic"
fn padded(at: i32, length: u32) -> u32 {
#if PADDING == "border"
  return u32(clamp(at, 0, i32(length) - 1));
#elif PADDING == "reflection"
  var period = 2u * length;
#if ALIGNED
  period -= 2u;
#end
  if (period == 0u) { return 0u; }
  var place = u32(at) % period;
  if (at < 0) { place = period - 1u - u32(-1 - at) % period; }
  if (place < length) { return place; }
#if ALIGNED
  place -= 1u;
#end
  return period - 1u - place;
#else
  return inside(at, length);
#end
}
/// Keys' cubic with -0.75, up to 1 and beyond, and how it changes.
fn near(t: ${F}) -> ${F} { return (${F}(1.25) * t - ${F}(2.25)) * t * t + ${F}(1.0); }
fn far_off(t: ${F}) -> ${F} {
  return ((${F}(-0.75) * t + ${F}(3.75)) * t - ${F}(6.0)) * t + ${F}(3.0);
}
#if SLOPES
fn near_slope(t: ${F}) -> ${F} { return (${F}(3.75) * t - ${F}(4.5)) * t; }
fn far_slope(t: ${F}) -> ${F} { return (${F}(-2.25) * t + ${F}(7.5)) * t - ${F}(6.0); }
#end
fn axis_of(coordinate: ${F}, length: u32) -> Axis {
  let place = place_of(coordinate, ${F}(length));
  let x = within_counts(place.x);
  let low = floor(x);
  let one = ${F}(1.0);
  let t = x - low;
  let first = i32(low);
  var made = Axis();
#for k in 0..4
  made.at${k} = padded(first + ${k - 1}, length);
#end
  made.weight0 = far_off(one + t);
  made.weight1 = near(t);
  made.weight2 = near(one - t);
  made.weight3 = far_off(one + one - t);
#if SLOPES
  made.slope0 = place.turn * far_slope(one + t);
  made.slope1 = place.turn * near_slope(t);
  made.slope2 = -place.turn * near_slope(one - t);
  made.slope3 = -place.turn * far_slope(one + one - t);
#end
  return made;
}
#else
/// Mirrors a place at both edges.
fn mirrored(place: Place, size: ${F}) -> Place {
  var low = ${F}(-0.5);
  var span = size;
#if ALIGNED
  low = ${F}();
  span = size - ${F}(1.0);
#end
  if (span == ${F}()) { return Place(); }
  let from_low = abs(place.x - low);
  let flips = floor(from_low / span);
  let rest = fma(-flips, span, from_low);
  let odd = flips - ${F}(2.0) * floor(flips * ${F}(0.5)) != ${F}();
  let turned = odd != (place.x < low);
  return Place(select(rest, span - rest, odd) + low, select(place.turn, -place.turn, turned));
}
fn axis_of(coordinate: ${F}, length: u32) -> Axis {
  let size = ${F}(length);
  let most = size - ${F}(1.0);
  var place = place_of(coordinate, size);
#if PADDING == "reflection"
  place = mirrored(place, size);
#end
#if PADDING != "zeros"
  if (!(place.x > ${F}() && place.x < most)) { place.turn = ${F}(); }
  place.x = select(select(place.x, most, place.x > most), ${F}(), place.x < ${F}());
#end
  let x = within_counts(place.x);
  var made = Axis();
#if MODE == "nearest"
  made.at0 = inside(i32(round(x)), length);
  made.weight0 = ${F}(1.0);
#else
  let low = floor(x);
  let first = i32(low);
  made.at0 = inside(first, length);
  made.at1 = inside(first + 1, length);
  made.weight0 = low + ${F}(1.0) - x;
  made.weight1 = x - low;
#if SLOPES
  made.slope0 = -place.turn;
  made.slope1 = place.turn;
#end
#end
  return made;
}
#end
