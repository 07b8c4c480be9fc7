// Puts the bytes of `value` that `mask` selects into one word.
// 0 target.
//! ignored: T
struct Params { word: u32, mask: u32, value: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(1)
fn main() {
  target_words[params.word] =
      (target_words[params.word] & ~params.mask) | (params.value & params.mask);
}
