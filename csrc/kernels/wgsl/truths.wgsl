// The highest bit of each byte of a word of the mask that is true, of the first params.n bools.
fn truths(word: u32) -> u32 {
  if (word * 4u >= params.n) { return 0u; }
  let bytes = mask[word];
  let highest = (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
  let ours = params.n - word * 4u;
  if (ours >= 4u) { return highest; }
  return highest & (0xffffffffu >> (32u - 8u * ours));
}
