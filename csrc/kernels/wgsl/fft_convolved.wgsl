// Fourier transforms of LINES lines of LENGTH numbers a workgroup as convolutions with a chirp
// (Bluestein's), by transforms of N, at least 2 LENGTH - 1, numbers in its memory, as fft.wgsl's
// passes make them: of a line times the chirp and zeros behind it, and the inverse of that times the
// answer. The inverse of a row is the conjugate of its conjugate's transform. input is [outer,
// LENGTH, middle, inner], output [outer, middle, LENGTH, inner].
// 0 input, 1 roots: LENGTH that are of no use here, the chirp, the answer, the roots of N; 2 turns
// (of no use without TURNED), 3 output.
// Variables: those of fft.wgsl, and LENGTH. There is no form of this for Level Zero, which has one kernel
// for all lengths and convolves by launches of fft.wgsl.
#let V = "vec2<f32>"
#if T == "f64"
#let V = "vec2<f64>"
#end
#let TURNS = TURNED
#let CONVOLVED = 1
#let AHEAD = 0
#let SPLIT = 0
#let ROOTS = 1
#let ROOTS_AT = 2 * LENGTH + N

#include "fft_params.wgsl"
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${V}>;
@group(0) @binding(1) var<storage, read> roots: array<${V}>;
@group(0) @binding(2) var<storage, read> turns: array<${V}>;
@group(0) @binding(3) var<storage, read_write> output: array<${V}>;
var<workgroup> held: array<${V}, ${SIZE}>;
#let PITCH = N + N / 16 + 1 - (N + N / 16) % 2

#include "fft_numbers.wgsl"
fn opposite(a: ${V}) -> ${V} { return ${V}(a.x, -a.y); }
/// Of the inverse, whose sign is -1, the conjugate.
fn mirrored(a: ${V}) -> ${V} { return ${V}(a.x, a.y * ${T}(params.sign)); }
fn own_root(root: ${V}) -> ${V} { return root; }
fn times_root(a: ${V}, b: ${V}) -> ${V} { return times(a, b); }
/// Of what stands at k of LENGTH and j of middle, by their product.
fn turn(angle: u32) -> ${V} {
  let step = 1u << params.step_bits;
  return mirrored(times(turns[angle & (step - 1u)], turns[step + (angle >> params.step_bits)]));
}
/// By -i.
fn quarter(a: ${V}) -> ${V} { return ${V}(a.y, -a.x); }

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * ${LINES}u;
#for i in 0..16 + SEVERAL * 16
  var v${i}: ${V};
#end
#for h in 0..2
#for p in 0..PASSES
#let R = (p == 0) * R0 + (p == 1) * R1 + (p == 2) * R2 + (p == 3) * R3 + (p == 4) * R4 + (p == 5) * R5 + (p == 6) * R6 + (p == 7) * R7
#let BEFORE = (1 + (p > 0) * (R0 - 1)) * (1 + (p > 1) * (R1 - 1)) * (1 + (p > 2) * (R2 - 1)) * (1 + (p > 3) * (R3 - 1)) * (1 + (p > 4) * (R4 - 1)) * (1 + (p > 5) * (R5 - 1)) * (1 + (p > 6) * (R6 - 1))
#let FIRST = h == 0 && p == 0
#let LAST = h == 1 && p == PASSES - 1
#let PART = N / R
#let ITEMS = LINES * PART
#let BY_LINES = (FIRST && FROM_LINES) || (LAST && TO_LINES)
#let U = 1
#if SEVERAL
#let U = (ITEMS + GROUP - 1) / GROUP
#end
#let FROM_HALF = 0
#let TO_HALF = 0
#include "fft_pass.wgsl"
#end
#end
}
