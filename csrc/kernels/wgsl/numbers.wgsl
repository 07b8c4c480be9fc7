// What factorisations compute with: NUMBER is T, or two of it for a complex one (COMPLEX). Of a T,
// BITS are an unsigned number as wide. Variables that the kernels use: LEAST, the bits of the least
// one that no device takes for 0, and INFINITE, those of infinity; EPSILON, what 1 is apart from
// the next number.
// Variables: T (f32 or f64), COMPLEX.
#let NUMBER = T
#let BITS = "u32"
#let LEAST = "0x00800000u"
#let INFINITE = "0x7f800000u"
#let ALL_BUT_SIGN = "0x7fffffffu"
#let EPSILON = "1.1920929e-7f"
#let BLOCK = 32
#if T == "f64"
#let BITS = "u64"
// Rows and columns of a block: as many as registers and workgroup memory hold.
#let BLOCK = 16
#let LEAST = "0x0010000000000000lu"
#let INFINITE = "0x7ff0000000000000lu"
#let ALL_BUT_SIGN = "0x7ffffffffffffffflu"
#let EPSILON = "2.220446049250313e-16lf"
#end
#if COMPLEX
#if T == "f64"
#let NUMBER = "vec2<f64>"
#else
#let NUMBER = "vec2<f32>"
#end
#end

/// Magnitudes are in the order of their bits, NaN last.
fn bits_of(x: ${T}) -> ${BITS} { return bitcast<${BITS}>(x) & ${ALL_BUT_SIGN}; }
fn larger(x: ${BITS}, y: ${BITS}) -> ${BITS} { return select(y, x, x > y); }

#if COMPLEX
fn of_real(x: ${T}) -> ${NUMBER} { return ${NUMBER}(x, ${T}(0)); }
fn real_of(x: ${NUMBER}) -> ${T} { return x.x; }
fn largest_bits(x: ${NUMBER}) -> ${BITS} { return larger(bits_of(x.x), bits_of(x.y)); }
/// What LAPACK takes for the magnitude of a pivot.
fn size_of(x: ${NUMBER}) -> ${T} { return abs(x.x) + abs(x.y); }
fn is_zero(x: ${NUMBER}) -> bool { return x.x == ${T}(0) && x.y == ${T}(0); }
fn conjugate(x: ${NUMBER}) -> ${NUMBER} { return ${NUMBER}(x.x, -x.y); }
fn length_of(x: ${NUMBER}) -> ${T} {
  let scale = max(abs(x.x), abs(x.y));
  if (scale == ${T}(0)) { return scale; }
  let scaled = x / scale;
  return scale * sqrt(fma(scaled.x, scaled.x, scaled.y * scaled.y));
}
fn direction_of(x: ${NUMBER}, length: ${T}) -> ${NUMBER} {
  if (length == ${T}(0)) { return of_real(${T}(1)); }
  return x / length;
}
fn plus_square(sum: ${T}, x: ${NUMBER}) -> ${T} { return fma(x.x, x.x, fma(x.y, x.y, sum)); }
fn plus_product(sum: ${NUMBER}, x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} {
  return ${NUMBER}(fma(x.x, y.x, fma(-x.y, y.y, sum.x)), fma(x.x, y.y, fma(x.y, y.x, sum.y)));
}
fn product(x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} {
  return ${NUMBER}(fma(x.x, y.x, -x.y * y.y), fma(x.x, y.y, x.y * y.x));
}
/// Squares neither overflow nor vanish. What is divided by an infinity is 0, as in C.
fn quotient(x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} {
  let scale = max(abs(y.x), abs(y.y));
  if (bits_of(scale) == ${INFINITE} && largest_bits(x) < ${INFINITE}) { return ${NUMBER}(); }
  let divisor = y / scale;
  let length = fma(divisor.x, divisor.x, divisor.y * divisor.y);
  return product(x / scale, conjugate(divisor)) / length;
}
#else
fn of_real(x: ${T}) -> ${NUMBER} { return x; }
fn real_of(x: ${NUMBER}) -> ${T} { return x; }
fn largest_bits(x: ${NUMBER}) -> ${BITS} { return bits_of(x); }
fn size_of(x: ${NUMBER}) -> ${T} { return abs(x); }
fn is_zero(x: ${NUMBER}) -> bool { return x == ${T}(0); }
fn conjugate(x: ${NUMBER}) -> ${NUMBER} { return x; }
fn length_of(x: ${NUMBER}) -> ${T} { return abs(x); }
fn direction_of(x: ${NUMBER}, length: ${T}) -> ${NUMBER} {
  return select(${T}(-1), ${T}(1), x >= ${T}(0));
}
fn plus_square(sum: ${T}, x: ${NUMBER}) -> ${T} { return fma(x, x, sum); }
fn plus_product(sum: ${NUMBER}, x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} { return fma(x, y, sum); }
fn product(x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} { return x * y; }
fn quotient(x: ${NUMBER}, y: ${NUMBER}) -> ${NUMBER} { return x / y; }
#end
