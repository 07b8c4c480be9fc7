// Rows of the blocks that Jacobi's method takes two of at a time, both together: as many as
// workgroup memory holds of them and of their rotations.
#let SIDE = 16
#if T == "f32" && !COMPLEX
#let SIDE = 32
#end
/// The row that the i-th of two blocks is.
fn of_block(pair: vec2<u32>, i: u32) -> u32 {
  return select(pair.y, pair.x, i < ${SIDE / 2}u) * ${SIDE / 2}u + i % ${SIDE / 2}u;
}
