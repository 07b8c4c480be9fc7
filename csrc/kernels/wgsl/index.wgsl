// The step that the index at a place of `indices` makes, or outside where it is none of its axis;
// the first of a launch that is not is kept in `faults`: 1, params.name, params.axis, params.size,
// the index, whether it has a sign. The first launch that has one keeps it.
// A step is never negative: where params.step is, params.back is what the last one reaches.
// Variables: INDEX (bytes of an index; 0: what is there is the step; none from params.size on), SIGNED,
// PAIR (1: the same again of `indices_b`, and of parameters with that ending).
#let SIDES = 1 + PAIR
#for X in 0..SIDES
#let B = ""
#if X == 1
#let B = "_b"
#end
fn report${B}(low: u32, high: u32) {
  if (atomicMax(&faults[0], 1u) != 0u) { return; }
  atomicStore(&faults[1], params.name);
  atomicStore(&faults[2], params.axis${B});
  atomicStore(&faults[3], params.size${B});
  atomicStore(&faults[4], low);
  atomicStore(&faults[5], high);
  atomicStore(&faults[6], ${SIGNED}u);
}

fn step_at${B}(at: u32) -> u32 {
  var low = 0u;
  var high = 0u;
#if INDEX == 8
  low = indices${B}[2u * at];
  high = indices${B}[2u * at + 1u];
#elif INDEX == 2
  low = (indices${B}[at / 2u] >> (at % 2u * 16u)) & 0xffffu;
#elif INDEX == 1
  low = (indices${B}[at / 4u] >> (at % 4u * 8u)) & 0xffu;
#else
  low = indices${B}[at];
#end
#if INDEX == 0
  return select(0xffffffffu, low, low < params.size${B});
#else
#if SIGNED
#if INDEX == 1
  if (low > 0x7fu) { low |= 0xffffff00u; }
#elif INDEX == 2
  if (low > 0x7fffu) { low |= 0xffff0000u; }
#end
#if INDEX < 8
  if (low > 0x7fffffffu) { high = 0xffffffffu; }
#end
  // The sum is less than the size where it wraps, so where the index reaches back no further.
  if (high == 0xffffffffu && low + params.size${B} < params.size${B}) {
    return (low + params.size${B}) * params.step${B} + params.back${B};
  }
#end
  if (high == 0u && low < params.size${B}) { return low * params.step${B} + params.back${B}; }
  report${B}(low, high);
  return 0xffffffffu;
#end
}
#end
