// Windows of pooling along three axes, as core/pool_windows.hpp says them. What is before and behind
// the input counts from the first place of the padding on.
// Variables: ADAPTIVE, PADDED (1: places of the padding count in a mean), DILATED (0: windows have no
// gaps).
struct Params {
  n: u32, divisor: u32, divisor_high: u32, across: u32,
#for a in 0..3
  length${a}: u32, out${a}: u32, window${a}: u32, stride${a}: u32, pad${a}: u32, dilation${a}: u32,
  reach${a}: u32,
#end
}
var<immediate> params: Params;

/// Of so many places, each `step` behind the one before, how many are within `room`.
fn places_within(room: u32, step: u32) -> u32 { return (room + step - 1u) / step; }
/// The same of places of a window.
fn elements_within(room: u32, step: u32) -> u32 {
#if DILATED
  return places_within(room, step);
#else
  return room;
#end
}

#for a in 0..3
/// The first element of a window, how many it has, and how many places count.
fn window${a}(p: u32) -> vec3<u32> {
#if ADAPTIVE
  let first = p * params.length${a} / params.out${a};
  let past = places_within((p + 1u) * params.length${a}, params.out${a});
  return vec3<u32>(first, past - first, past - first);
#else
  let start = p * params.stride${a};
#if DILATED
  let step = params.dilation${a};
#else
  let step = 1u;
#end
  let end = params.pad${a} + params.length${a};
  let skipped = elements_within(max(start, params.pad${a}) - start, step);
  let inside = min(elements_within(max(start, end) - start, step), params.window${a});
  let padded = min(elements_within(max(start, end + params.pad${a}) - start, step), params.window${a});
  let count = max(inside, skipped) - skipped;
  let first = start + skipped * step - params.pad${a};
#if PADDED
  return vec3<u32>(first, count, padded);
#else
  return vec3<u32>(first, count, count);
#end
#end
}
#end
