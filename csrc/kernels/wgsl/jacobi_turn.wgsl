// The rotation of a pair: what it is made of, and what it makes of two numbers.
// Around this file: numbers.wgsl.

/// The sine, with the direction of what a pair has beside it, and that by 1 + the cosine.
struct Rotation { sine: ${NUMBER}, share: ${NUMBER} }
struct Two { x: ${NUMBER}, y: ${NUMBER} }

/// That makes `beside` 0, which is not, between `first` and `second` on the diagonal.
fn rotation_of(first: ${T}, second: ${T}, beside: ${NUMBER}) -> Rotation {
  let size = length_of(beside);
  let ratio = (second - first) / (${T}(2) * size);
  let sign = select(${T}(-1), ${T}(1), ratio >= ${T}(0));
  let tangent = sign / (abs(ratio) + sqrt(fma(ratio, ratio, ${T}(1))));
  let cosine = ${T}(1) / sqrt(fma(tangent, tangent, ${T}(1)));
  let sine = direction_of(beside, size) * (tangent * cosine);
  return Rotation(sine, sine / (${T}(1) + cosine));
}
/// With the least rounding.
fn turned(x: ${NUMBER}, y: ${NUMBER}, sine: ${NUMBER}, share: ${NUMBER}) -> Two {
  return Two(x - product(conjugate(sine), plus_product(y, share, x)),
             y + product(sine, plus_product(x, -conjugate(share), y)));
}
