// The types that hold T: VEC is four of it.
// Variables: T (f32 or f16).
#let VEC = "vec4<f32>"
#if T == "f16"
enable f16;
#let VEC = "vec4<f16>"
#end
