// Fourier transforms of LINES lines a workgroup, in its memory, by Stockham's passes of radix R0,
// R1, ...: a line's n numbers are read a pass apart and written where the next pass has them in a
// row. input is [outer, n, middle, inner], output [outer, middle, n, inner].
// Real rows are those of lines, by KIND: 0 none; 1 of 2 N numbers, two of which are a complex one, to
// the first N + 1 of their transforms, 2 from these back; 3 of N numbers, which is odd, to the first
// N / 2 + 1, 4 from these back.
// 0 input, 1 roots, 2 turns (of no use without TURNED), 3 output.
// Variables: N, LINES, PASSES, R0 to R7 (1 past the last pass), SIZE (what the memory holds; each
// line has N + N / 16, against conflicts of banks, and one more if that is even), FROM_LINES and
// TO_LINES (1: work-items side by side read, or write, neighbouring lines; 0: numbers of one),
// TURNED, GROUP, SEVERAL (0: a work-item has R numbers in each pass at most), SPLIT (1: the memory holds
// all real parts, then all imaginary ones), APART (1: a kernel for
// all radices, which has no registers for long ones: passes write to another half of the memory than
// they read, and radices above 8, of which there are 11 and 13 then, are sums), T (f32 or f64).
// At most 32 numbers a work-item in a pass. Primes from 17 on are passes of fft_prime.wgsl, without SPLIT
// and APART, with others before and behind them, of radix 1 where there is none.
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
//! SPLIT: as 0
//! APART: as 1
//! SIZE: 1089 2178
//! GROUP: 256
//! T: f32 f64
//! KIND: 0 1 2 3 4
//! only: SIZE == 1089 or (T == "f32" and KIND == 0)
#let V = "vec2<f32>"
#if T == "f64"
#let V = "vec2<f64>"
#end
#let HALVES = KIND == 1 || KIND == 2
// What one element of input, and of output, is, and how many roots there are for each of N.
#let INPUT = V
#if KIND == 3
#let INPUT = T
#end
#let OUTPUT = V
#if KIND == 4
#let OUTPUT = T
#end
#let ROOTS = 1 + HALVES
#let TURNS = TURNED
#if KIND > 0
#let TURNS = 0
#end
// As fft_convolved.wgsl has them.
#let CONVOLVED = 0
#let LENGTH = N
#let ROOTS_AT = 0

#include "fft_params.wgsl"
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${INPUT}>;
@group(0) @binding(1) var<storage, read> roots: array<${V}>;
@group(0) @binding(2) var<storage, read> turns: array<${V}>;
@group(0) @binding(3) var<storage, read_write> output: array<${OUTPUT}>;
#if SPLIT
var<workgroup> held: array<${T}, ${SIZE}>;
#else
var<workgroup> held: array<${V}, ${SIZE * (1 + APART)}>;
#end
#let PITCH = N + N / 16 + 1 - (N + N / 16) % 2

#include "fft_numbers.wgsl"
#if !SPLIT && !APART
#include "fft_prime_circle.wgsl"
#end
/// sign is -1 for the inverse, whose angles are the other way round.
fn own_root(root: ${V}) -> ${V} { return ${V}(root.x, root.y * ${T}(params.sign)); }
fn times_root(a: ${V}, b: ${V}) -> ${V} { return times(a, own_root(b)); }
/// Of what stands at k of n and j of middle, by their product.
fn turn(angle: u32) -> ${V} {
  let step = 1u << params.step_bits;
  return own_root(times(turns[angle & (step - 1u)], turns[step + (angle >> params.step_bits)]));
}
/// By -i, for the inverse by i.
fn quarter(a: ${V}) -> ${V} { return ${V}(a.y, -a.x) * ${T}(params.sign); }
#if KIND > 0
#include "fft_real.wgsl"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * ${LINES}u;
#if !APART
#for i in 0..16 + SEVERAL * 16
  var v${i}: ${V};
#if SPLIT
  var x${i}: ${T};
#end
#end
#end
#for p in 0..PASSES
#let P = p
#include "fft_pass_values.wgsl"
#let FROM_HALF = APART * SIZE * ((p + 1) % 2)
#let TO_HALF = APART * SIZE * (p % 2)
#let NEXT = (p == 0) * R1 + (p == 1) * R2 + (p == 2) * R3 + (p == 3) * R4 + (p == 4) * R5 + (p == 5) * R6 + (p == 6) * R7
#let AHEAD = !SPLIT && !APART && NEXT > 16
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
      var v${i}: ${V};
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
#if SPLIT && p > 0
#include "fft_exchange.wgsl"
#end
#if R > 16
#include "fft_prime.wgsl"
#else
#include "fft_pass.wgsl"
#end
#end
#end
#if KIND == 1
#if APART
  workgroupBarrier();
#end
#include "fft_unpack.wgsl"
#end
}
