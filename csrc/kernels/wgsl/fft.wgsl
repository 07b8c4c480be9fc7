// Fourier transforms of LINES lines a workgroup, in its memory, by Stockham's passes of radix R0,
// R1, ...: a line's n numbers are read a pass apart and written where the next pass has them in a
// row. input is [outer, n, middle, inner], output [outer, middle, n, inner].
// 0 input, 1 roots, 2 turns (of no use without TURNED), 3 output.
// Variables: N, LINES, PASSES, R0 to R7 (1 past the last pass), SIZE (what the memory holds; each
// line has N + N / 16, against conflicts of banks, and one more if that is even), FROM_LINES and
// TO_LINES (1: work-items side by side read, or write, neighbouring lines; 0: numbers of one),
// TURNED, GROUP, SEVERAL (0: a work-item has R numbers in each pass at most).
// At most 32 numbers a work-item in a pass.
//! N: params n
//! LINES: params together
//! PASSES: params passes
//! R0: params r0
//! R1: params r1
//! R2: params r2
//! R3: params r3
//! R4: params r4
//! R5: params r5
//! R6: params r6
//! R7: params r7
//! FROM_LINES: params from_lines
//! TO_LINES: params to_lines
//! TURNED: params turned
//! SEVERAL: as 0
//! SIZE: 1089 2178
//! GROUP: 256

struct Params {
  lines: u32, width: u32, inner: u32, middle: u32,
  step_bits: u32, sign: f32, scale: f32,
  // Of a kernel for all lengths.
  n: u32, together: u32, passes: u32, from_lines: u32, to_lines: u32, turned: u32,
  r0: u32, r1: u32, r2: u32, r3: u32, r4: u32, r5: u32, r6: u32, r7: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read> roots: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> turns: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> output: array<vec2<f32>>;
var<workgroup> held: array<vec2<f32>, ${SIZE}>;
#let PITCH = N + N / 16 + 1 - (N + N / 16) % 2

// exp(-2 pi i j / r), j = 0 .. r - 1, for r = 3, 5, 7, 11, 13, 9, 16.
const CIRCLE = array<vec2<f32>, 64>(
  vec2<f32>(1.0, 0.0), vec2<f32>(-0.5, -0.8660254038), vec2<f32>(-0.5, 0.8660254038),
  vec2<f32>(1.0, 0.0), vec2<f32>(0.3090169944, -0.9510565163),
  vec2<f32>(-0.8090169944, -0.5877852523), vec2<f32>(-0.8090169944, 0.5877852523),
  vec2<f32>(0.3090169944, 0.9510565163), vec2<f32>(1.0, 0.0),
  vec2<f32>(0.6234898019, -0.7818314825), vec2<f32>(-0.222520934, -0.9749279122),
  vec2<f32>(-0.9009688679, -0.4338837391), vec2<f32>(-0.9009688679, 0.4338837391),
  vec2<f32>(-0.222520934, 0.9749279122), vec2<f32>(0.6234898019, 0.7818314825),
  vec2<f32>(1.0, 0.0), vec2<f32>(0.8412535328, -0.5406408175),
  vec2<f32>(0.415415013, -0.9096319954), vec2<f32>(-0.1423148383, -0.9898214419),
  vec2<f32>(-0.6548607339, -0.7557495744), vec2<f32>(-0.9594929736, -0.2817325568),
  vec2<f32>(-0.9594929736, 0.2817325568), vec2<f32>(-0.6548607339, 0.7557495744),
  vec2<f32>(-0.1423148383, 0.9898214419), vec2<f32>(0.415415013, 0.9096319954),
  vec2<f32>(0.8412535328, 0.5406408175), vec2<f32>(1.0, 0.0),
  vec2<f32>(0.8854560257, -0.464723172), vec2<f32>(0.5680647467, -0.8229838659),
  vec2<f32>(0.1205366803, -0.9927088741), vec2<f32>(-0.354604887, -0.9350162427),
  vec2<f32>(-0.7485107482, -0.6631226582), vec2<f32>(-0.9709418174, -0.2393156643),
  vec2<f32>(-0.9709418174, 0.2393156643), vec2<f32>(-0.7485107482, 0.6631226582),
  vec2<f32>(-0.354604887, 0.9350162427), vec2<f32>(0.1205366803, 0.9927088741),
  vec2<f32>(0.5680647467, 0.8229838659), vec2<f32>(0.8854560257, 0.464723172),
  vec2<f32>(1.0, 0.0), vec2<f32>(0.7660444431, -0.6427876097),
  vec2<f32>(0.1736481777, -0.984807753), vec2<f32>(-0.5, -0.8660254038),
  vec2<f32>(-0.9396926208, -0.3420201433), vec2<f32>(-0.9396926208, 0.3420201433),
  vec2<f32>(-0.5, 0.8660254038), vec2<f32>(0.1736481777, 0.984807753),
  vec2<f32>(0.7660444431, 0.6427876097), vec2<f32>(1.0, 0.0),
  vec2<f32>(0.9238795325, -0.3826834324), vec2<f32>(0.7071067812, -0.7071067812),
  vec2<f32>(0.3826834324, -0.9238795325), vec2<f32>(0.0, -1.0),
  vec2<f32>(-0.3826834324, -0.9238795325), vec2<f32>(-0.7071067812, -0.7071067812),
  vec2<f32>(-0.9238795325, -0.3826834324), vec2<f32>(-1.0, 0.0),
  vec2<f32>(-0.9238795325, 0.3826834324), vec2<f32>(-0.7071067812, 0.7071067812),
  vec2<f32>(-0.3826834324, 0.9238795325), vec2<f32>(0.0, 1.0),
  vec2<f32>(0.3826834324, 0.9238795325), vec2<f32>(0.7071067812, 0.7071067812),
  vec2<f32>(0.9238795325, 0.3826834324)
);

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(fma(a.x, b.x, -a.y * b.y), fma(a.x, b.y, a.y * b.x));
}
/// sign is -1 for the inverse, whose angles are the other way round.
fn own_root(root: vec2<f32>) -> vec2<f32> { return vec2<f32>(root.x, root.y * params.sign); }
fn times_root(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return times(a, own_root(b)); }
/// Of what stands at k of n and j of middle, by their product.
fn turn(angle: u32) -> vec2<f32> {
  let step = 1u << params.step_bits;
  return own_root(times(turns[angle & (step - 1u)], turns[step + (angle >> params.step_bits)]));
}
/// By -i, for the inverse by i.
fn quarter(a: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.y, -a.x) * params.sign; }
fn place(i: u32) -> u32 { return i + i / 16u; }

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * ${LINES}u;
#if SEVERAL
  var v: array<vec2<f32>, 32>;
#else
  var v: array<vec2<f32>, 16>;
#end
#for p in 0..PASSES
#let R = (p == 0) * R0 + (p == 1) * R1 + (p == 2) * R2 + (p == 3) * R3 + (p == 4) * R4 + (p == 5) * R5 + (p == 6) * R6 + (p == 7) * R7
#let BEFORE = (1 + (p > 0) * (R0 - 1)) * (1 + (p > 1) * (R1 - 1)) * (1 + (p > 2) * (R2 - 1)) * (1 + (p > 3) * (R3 - 1)) * (1 + (p > 4) * (R4 - 1)) * (1 + (p > 5) * (R5 - 1)) * (1 + (p > 6) * (R6 - 1))
#let PART = N / R
#let ITEMS = LINES * PART
#let BY_LINES = (p == 0 && FROM_LINES) || (p > 0 && p == PASSES - 1 && TO_LINES)
#let U = 1
#if SEVERAL
#let U = (ITEMS + GROUP - 1) / GROUP
#end
#for u in 0..U
  {
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#if p == 0
      let outer = (first + line) / params.width;
      let source = outer * (params.width * ${N - 1}u) + first + line + t * params.width;
      let inside = first + line < params.lines;
#else
      let source = line * ${PITCH}u;
      let angle = t % ${BEFORE}u * ${PART / BEFORE}u;
#end
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#for i in 0..Q
#if p == 0
      if (inside) { v[${u * Q + i}] = input[source + ${i * PART}u * params.width]; }
#else
      v[${u * Q + i}] = held[source + place(t + ${i * PART}u)];
#end
#end
#if p > 0
#if Q > 1
      {
        let w1 = own_root(roots[angle]);
#if Q > 4
        let w4 = own_root(roots[angle * 4u]);
#end
#include "fft_powers.wgsl"
#for i in 1..Q
        v[${u * Q + i}] = times(v[${u * Q + i}], w${i});
#end
      }
#end
#end
#include "fft_radix.wgsl"
#end
#end
#end
    }
  }
#end
#if p > 0 && p < PASSES - 1
  workgroupBarrier();
#end
#for u in 0..U
  {
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#if p == PASSES - 1
      let outer = (first + line) / params.width;
      let within = (first + line) % params.width;
      let middle = within / params.inner;
      let to = ((outer * params.middle + middle) * ${N}u + t) * params.inner +
               within % params.inner;
      let inside = first + line < params.lines;
#else
      let before = t % ${BEFORE}u;
      let to = (t - before) * ${R}u + before;
#end
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
      {
#if p == PASSES - 1
#if TURNED
      let turn0 = turn(t * middle);
#if Q > 1
      let w1 = turn(${PART}u * middle);
#if Q > 4
      let w4 = turn(${4 * PART}u * middle);
#end
#include "fft_powers.wgsl"
#end
#end
#end
#for i in 0..Q
#let FROM = u * Q + (Q == 16) * (i % 4 * 4 + i / 4) + (Q == 9) * (i % 3 * 3 + i / 3) + (Q == 8) * (i % 2 * 4 + i / 2) + (Q != 16 && Q != 9 && Q != 8) * i
#if p == PASSES - 1
      if (inside) {
        var y = v[${FROM}] * params.scale;
#if TURNED
        y = times(y, turn0);
#if i > 0
        y = times(y, w${i});
#end
#end
        output[to + ${i * PART}u * params.inner] = y;
      }
#else
      held[line * ${PITCH}u + place(to + ${i * BEFORE}u)] = v[${FROM}];
#end
#end
      }
#end
#end
#end
    }
  }
#end
#if p < PASSES - 1
  workgroupBarrier();
#end
#end
}
