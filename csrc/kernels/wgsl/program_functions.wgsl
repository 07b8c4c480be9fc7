// The functions of programs (core/program/elementwise.def), NAME_CLASS of four values; a kernel
// gets those that it calls, with what they use. So what is declared starts its line, and belongs to
// no other before or behind it.
// Around this file: params.zero, which is 0 and which no compiler knows.
//
// The largest errors of float32 that were measured, over every 3,331st float32 and a million more
// around 0 and multiples of pi / 2, and of two operands over 1.8 million pairs, against 80 bits,
// on software Vulkan, in units of the last place of normal results:
//   0.5   add sub mul div remainder square reciprocal sqrt
//   0.7   pow exp exp2 log2 log10 cbrt, log 0.8
//   1.2   sin cos acos cosh hypot erf
//   1.6   expm1 log1p rsqrt, atan and gelu_tanh 1.8, gelu 1.8 of x, asinh 1.9
//   2.3   sinh asin acosh atanh atan2
//   2.8   tan tanh sigmoid silu, logaddexp 2.7 of the larger operand
// floor_divide is floor(x / y), rounded once. What is subnormal may come out as 0.
#let T = "f32"
#let EXACT = 0
#let OP = "pow"
#include "functions.wgsl"
#include "binary_functions.wgsl"
#include "round_half.wgsl"
#include "program_floats.wgsl"
#include "program_powers.wgsl"
#include "program_angles.wgsl"
#for WIDE in 0..2
#let S = "i32"
#let U = "u32"
#let BITS = 32
#if WIDE
#let S = "i64"
#let U = "u64"
#let BITS = 64
#end
#include "program_integers.wgsl"
#end
#include "program_doubles.wgsl"
#for WIDE in 0..2
#let F = "f32"
#let U = "u32"
#let DIGITS = 23
#let POINT = "16777216"
#let AT_ONCE = 8
#let LEAST = 150
#let ALPHA = "1.6732632"
#let SCALE = "1.0507010"
#let SIXTH = "0.16666667"
#let LOW = "-1e30"
#let HIGH = "1e30"
#if WIDE
#let F = "f64"
#let U = "u64"
#let DIGITS = 52
#let POINT = "9007199254740992"
#let AT_ONCE = 11
#let LEAST = 1075
#let ALPHA = "1.6732632423543772lf"
#let SCALE = "1.0507009873554805lf"
#let SIXTH = "0.16666666666666666lf"
#let LOW = "-1e30lf"
#let HIGH = "1e30lf"
#end
#include "program_divisions.wgsl"
#include "program_units.wgsl"
#end
#include "program_casts.wgsl"
