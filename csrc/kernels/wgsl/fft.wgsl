// Fourier transforms of LINES lines a workgroup, in its memory, by Stockham's passes of radix R0,
// R1, ...: a line's n numbers are read a pass apart and written where the next pass has them in a
// row. input is [outer, n, middle, inner], output [outer, middle, n, inner].
// 0 input, 1 roots, 2 turns (of no use without TURNED), 3 output.
// Variables: N, LINES, PASSES, R0 to R7 (1 past the last pass), SIZE (what the memory holds; each
// line has N + N / 16, against conflicts of banks, and one more if that is even), FROM_LINES and
// TO_LINES (1: work-items side by side read, or write, neighbouring lines; 0: numbers of one),
// TURNED, GROUP, SEVERAL (0: a work-item has R numbers in each pass at most), APART (1: a kernel for
// all radices, which has no registers for long ones: passes write to another half of the memory than
// they read, and radices above 8, of which there are 11 and 13 then, are sums).
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
//! APART: as 1
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
var<workgroup> held: array<vec2<f32>, ${SIZE * (1 + APART)}>;
#let PITCH = N + N / 16 + 1 - (N + N / 16) % 2

// exp(-2 pi i j / r), j = 0 .. r - 1, for r = 3, 5, 7, 11, 13, 9, 16.
const CIRCLE0 = vec2<f32>(1.0, 0.0); const CIRCLE1 = vec2<f32>(-0.5, -0.8660254038);
const CIRCLE2 = vec2<f32>(-0.5, 0.8660254038); const CIRCLE3 = vec2<f32>(1.0, 0.0);
const CIRCLE4 = vec2<f32>(0.3090169944, -0.9510565163);
const CIRCLE5 = vec2<f32>(-0.8090169944, -0.5877852523);
const CIRCLE6 = vec2<f32>(-0.8090169944, 0.5877852523);
const CIRCLE7 = vec2<f32>(0.3090169944, 0.9510565163); const CIRCLE8 = vec2<f32>(1.0, 0.0);
const CIRCLE9 = vec2<f32>(0.6234898019, -0.7818314825);
const CIRCLE10 = vec2<f32>(-0.222520934, -0.9749279122);
const CIRCLE11 = vec2<f32>(-0.9009688679, -0.4338837391);
const CIRCLE12 = vec2<f32>(-0.9009688679, 0.4338837391);
const CIRCLE13 = vec2<f32>(-0.222520934, 0.9749279122);
const CIRCLE14 = vec2<f32>(0.6234898019, 0.7818314825); const CIRCLE15 = vec2<f32>(1.0, 0.0);
const CIRCLE16 = vec2<f32>(0.8412535328, -0.5406408175);
const CIRCLE17 = vec2<f32>(0.415415013, -0.9096319954);
const CIRCLE18 = vec2<f32>(-0.1423148383, -0.9898214419);
const CIRCLE19 = vec2<f32>(-0.6548607339, -0.7557495744);
const CIRCLE20 = vec2<f32>(-0.9594929736, -0.2817325568);
const CIRCLE21 = vec2<f32>(-0.9594929736, 0.2817325568);
const CIRCLE22 = vec2<f32>(-0.6548607339, 0.7557495744);
const CIRCLE23 = vec2<f32>(-0.1423148383, 0.9898214419);
const CIRCLE24 = vec2<f32>(0.415415013, 0.9096319954);
const CIRCLE25 = vec2<f32>(0.8412535328, 0.5406408175); const CIRCLE26 = vec2<f32>(1.0, 0.0);
const CIRCLE27 = vec2<f32>(0.8854560257, -0.464723172);
const CIRCLE28 = vec2<f32>(0.5680647467, -0.8229838659);
const CIRCLE29 = vec2<f32>(0.1205366803, -0.9927088741);
const CIRCLE30 = vec2<f32>(-0.354604887, -0.9350162427);
const CIRCLE31 = vec2<f32>(-0.7485107482, -0.6631226582);
const CIRCLE32 = vec2<f32>(-0.9709418174, -0.2393156643);
const CIRCLE33 = vec2<f32>(-0.9709418174, 0.2393156643);
const CIRCLE34 = vec2<f32>(-0.7485107482, 0.6631226582);
const CIRCLE35 = vec2<f32>(-0.354604887, 0.9350162427);
const CIRCLE36 = vec2<f32>(0.1205366803, 0.9927088741);
const CIRCLE37 = vec2<f32>(0.5680647467, 0.8229838659);
const CIRCLE38 = vec2<f32>(0.8854560257, 0.464723172); const CIRCLE39 = vec2<f32>(1.0, 0.0);
const CIRCLE40 = vec2<f32>(0.7660444431, -0.6427876097);
const CIRCLE41 = vec2<f32>(0.1736481777, -0.984807753);
const CIRCLE42 = vec2<f32>(-0.5, -0.8660254038);
const CIRCLE43 = vec2<f32>(-0.9396926208, -0.3420201433);
const CIRCLE44 = vec2<f32>(-0.9396926208, 0.3420201433);
const CIRCLE45 = vec2<f32>(-0.5, 0.8660254038);
const CIRCLE46 = vec2<f32>(0.1736481777, 0.984807753);
const CIRCLE47 = vec2<f32>(0.7660444431, 0.6427876097); const CIRCLE48 = vec2<f32>(1.0, 0.0);
const CIRCLE49 = vec2<f32>(0.9238795325, -0.3826834324);
const CIRCLE50 = vec2<f32>(0.7071067812, -0.7071067812);
const CIRCLE51 = vec2<f32>(0.3826834324, -0.9238795325); const CIRCLE52 = vec2<f32>(0.0, -1.0);
const CIRCLE53 = vec2<f32>(-0.3826834324, -0.9238795325);
const CIRCLE54 = vec2<f32>(-0.7071067812, -0.7071067812);
const CIRCLE55 = vec2<f32>(-0.9238795325, -0.3826834324); const CIRCLE56 = vec2<f32>(-1.0, 0.0);
const CIRCLE57 = vec2<f32>(-0.9238795325, 0.3826834324);
const CIRCLE58 = vec2<f32>(-0.7071067812, 0.7071067812);
const CIRCLE59 = vec2<f32>(-0.3826834324, 0.9238795325); const CIRCLE60 = vec2<f32>(0.0, 1.0);
const CIRCLE61 = vec2<f32>(0.3826834324, 0.9238795325);
const CIRCLE62 = vec2<f32>(0.7071067812, 0.7071067812);
const CIRCLE63 = vec2<f32>(0.9238795325, 0.3826834324);

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
#if !APART
#for i in 0..16 + SEVERAL * 16
  var v${i}: vec2<f32>;
#end
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
#let FROM_HALF = APART * SIZE * ((p + 1) % 2)
#let TO_HALF = APART * SIZE * (p % 2)
#if APART
#for Q in 1..9
#if Q != 6
#if R == Q
  {
    // Here, so that no compiler reads for all radices before it knows which.
    workgroupBarrier();
#let u = 0
    let item = local;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#include "fft_source.wgsl"
#include "fft_target.wgsl"
#for i in 0..Q
      var v${i}: vec2<f32>;
#end
#include "fft_read.wgsl"
#include "fft_radix.wgsl"
#include "fft_write.wgsl"
    }
  }
#end
#end
#end
#if R > 8
#include "fft_sums.wgsl"
#end
#else
#for u in 0..U
  {
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#include "fft_source.wgsl"
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#include "fft_read.wgsl"
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
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#include "fft_target.wgsl"
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#include "fft_write.wgsl"
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
#end
}
