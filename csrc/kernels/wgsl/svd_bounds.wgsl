// When vectors count as orthogonal, and as rounding.
// Around this file: numbers.wgsl.
// What squares have lost digits below, and of the longest vector what is no more than rounding.
#let LOST = "1e-30f"
#let ROUNDING = "3.2e-7f"
#if T == "f64"
#let LOST = "1e-290lf"
#let ROUNDING = "2e-15lf"
#end
/// The cosine, of vectors of so many elements, that rounding leaves.
fn orthogonal(length: u32) -> ${T} {
  return ${EPSILON} * (${T}(2) + ${T}(0.5f) * sqrt(${T}(length)));
}
