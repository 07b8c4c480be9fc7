// What matrix_tiles.wgsl and matrix_types.wgsl ask of products of bytes: places of 16 where units take
// so many along k, else of 8.
// Variables: T (i8 or u8), UK.
#let FACTOR = T
#let SUM = "i32"
#if T == "u8"
#let SUM = "u32"
#end
#let HELD = "vec2<u32>"
#let PER_PLACE = 8
#let SUMS_PER_PLACE = 2
#if UK % 16 == 0
#let HELD = "vec4<u32>"
#let PER_PLACE = 16
#let SUMS_PER_PLACE = 4
#end
