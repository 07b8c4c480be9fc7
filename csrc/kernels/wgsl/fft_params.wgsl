// What launches of transforms say.
struct Params {
  lines: u32, width: u32, inner: u32, middle: u32,
  step_bits: u32, sign: f32, scale: u32, scale_high: u32,
  // Of a kernel for all lengths.
  n: u32, together: u32, passes: u32, from_lines: u32, to_lines: u32, turned: u32,
  r0: u32, r1: u32, r2: u32, r3: u32, r4: u32, r5: u32, r6: u32, r7: u32,
}
