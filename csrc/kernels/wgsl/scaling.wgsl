// By which power of two the elements of a matrix are multiplied, so that their squares neither
// overflow nor vanish, and by which what comes of them. Devices may take subnormal numbers for 0,
// so these are read and written by their bits.
// Around this file: numbers.wgsl.
#let DIGITS = "0x007fffffu"
#let ONE = "0x3f800000u"
#let MOST = "0x7e800000u"
#if T == "f64"
#let DIGITS = "0x000ffffffffffffflu"
#let ONE = "0x3ff0000000000000lu"
#let MOST = "0x7fd0000000000000lu"
#end

/// Times the largest scale, 2^126 or 2^1022: digits behind a 1 count the same.
fn of_subnormal(x: ${T}) -> ${T} {
  let bits = bitcast<${BITS}>(x);
  let size = bitcast<${T}>((bits & ${DIGITS}) | ${ONE}) - ${T}(1);
  return select(size, -size, bits > ${ALL_BUT_SIGN});
}
fn scaled_part(x: ${T}, scale: ${T}) -> ${T} {
  if (scale > ${T}(1) && bits_of(x) < ${LEAST}) {
    return of_subnormal(x) * (bitcast<${T}>(${LEAST}) * scale);
  }
  return x * scale;
}
/// 0 where the scale is, whatever x is.
fn scaled(x: ${NUMBER}, scale: ${T}) -> ${NUMBER} {
  if (scale == ${T}(0)) { return ${NUMBER}(); }
#if COMPLEX
  return ${NUMBER}(scaled_part(x.x, scale), scaled_part(x.y, scale));
#else
  return scaled_part(x, scale);
#end
}
fn unscaled(x: ${T}, scale: ${T}) -> ${T} {
  if (scale >= ${T}(1)) { return x * scale; }
  let size = abs(x) * (scale * bitcast<${T}>(${MOST}));
  if (size >= ${T}(1)) { return x * scale; }
  let bits = bitcast<${BITS}>(size + ${T}(1)) - ${ONE};
  return bitcast<${T}>(bits | (bitcast<${BITS}>(x) & ~${ALL_BUT_SIGN}));
}
