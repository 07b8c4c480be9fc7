// What matrix_tiles.wgsl and matrix_types.wgsl ask of products of float16 with float32 sums.
#let FACTOR = "f16"
#let SUM = "f32"
#let HELD = "vec4<u32>"
#let PER_PLACE = 8
#let SUMS_PER_PLACE = 4
