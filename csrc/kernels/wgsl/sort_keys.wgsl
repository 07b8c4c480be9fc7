// The keys of sorts: the bits of an element, RAW, as an unsigned number in their order. `params`
// has what core/sort_keys.hpp says of the dtype; of 64 bits, two words with the low one first, that
// of the high one.
// Variables: WORDS (1 or 2 of an element).
#let RAW = "u32"
#if WORDS == 2
#let RAW = "vec2<u32>"
#end

#if WORDS == 1
fn sort_key(raw: u32) -> u32 {
  if (params.infinity == 0u) { return raw ^ params.sign ^ params.flip; }
  let magnitude = raw & (params.sign - 1u);
  if (magnitude > params.infinity) { return params.all; }
  let ordered = select(magnitude | params.sign, ~raw & params.all, raw > params.sign);
  return ordered ^ params.flip;
}
fn digit_of(key: u32) -> u32 { return (key >> params.shift) & 255u; }
#else
fn sort_key(raw: vec2<u32>) -> vec2<u32> {
  if (params.infinity == 0u) {
    return vec2<u32>(raw.x ^ params.flip, raw.y ^ params.sign ^ params.flip);
  }
  let magnitude = raw.y & (params.sign - 1u);
  if (magnitude > params.infinity || (magnitude == params.infinity && raw.x != 0u)) {
    return vec2<u32>(params.all, params.all);
  }
  // -0.0 is 0.0.
  let negative = raw.y >= params.sign && (magnitude | raw.x) != 0u;
  let low = select(raw.x, ~raw.x, negative);
  let high = select(magnitude | params.sign, ~raw.y, negative);
  return vec2<u32>(low ^ params.flip, high ^ params.flip);
}
fn digit_of(key: vec2<u32>) -> u32 {
  return (select(key.x, key.y, params.shift >= 32u) >> (params.shift & 31u)) & 255u;
}
#end
