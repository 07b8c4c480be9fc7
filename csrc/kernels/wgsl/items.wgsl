// What a kernel reads at a time: ITEM, WIDTH elements of type T; WIDE is the same in f32.
// Variables: T (f32 or f16), VECTOR (1: four elements).
#include "floats.wgsl"
#if VECTOR
#let ITEM = VEC
#let WIDE = "vec4<f32>"
#let WIDTH = 4
#else
#let ITEM = T
#let WIDE = "f32"
#let WIDTH = 1
#end
