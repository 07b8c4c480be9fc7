// Bytes as matrix units read them: rows of op(A) and columns of op(B), batched, lines along k that are
// whole vec4 of 16, zeros behind k. Of what is stored so a vec4 a work-item; else one of each of four
// lines. Those of A first; a matrix that is read as it is has no items.
// 0 a, 1 b, 2 packed.
// Variables: GROUP.
struct Matrix {
  lines: u32, k: u32, ld: u32, stride: u32,
  across: u32,  // whether k runs down what is stored
  vectors: u32, items: u32, start: u32, last: u32,  // last: the word that the binding ends with
}
struct Params { a: Matrix, b: Matrix }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> packed: array<vec4<u32>>;
#include "range.wgsl"

/// Four bytes from `at` on; what is behind the matrix is whatever there is.
fn word_of(in_a: bool, at: u32, last: u32) -> u32 {
  let first = min(at / 4u, last);
  let second = min(at / 4u + 1u, last);
  var low = 0u;
  var high = 0u;
  if (in_a) {
    low = a[first];
    high = a[second];
  } else {
    low = b[first];
    high = b[second];
  }
  let shift = at % 4u * 8u;
  return (low >> shift) | select(0u, high << ((32u - shift) & 31u), shift != 0u);
}

/// Of a word the bytes that are before the end, `count` of them.
fn kept(word: u32, count: u32) -> u32 {
  return select(word & ((1u << (count * 8u % 32u)) - 1u), word, count >= 4u);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#include "item_of_two.wgsl"
  if (matrix.across == 0u) {
    let line = item / matrix.vectors;
    let near = item % matrix.vectors * 16u;
    let base = line / matrix.lines * matrix.stride + line % matrix.lines * matrix.ld + near;
    var words = vec4<u32>();
#for e in 0..4
    if (near + ${4 * e}u < matrix.k) {
      words[${e}] = kept(word_of(in_a, base + ${4 * e}u, matrix.last), matrix.k - near - ${4 * e}u);
    }
#end
    packed[matrix.start + item] = words;
    return;
  }
  // Neighbours read what lies side by side.
  let fours = (matrix.lines + 3u) / 4u;
  let line = item % fours * 4u;
  let vector = item / fours % matrix.vectors;
  let batch = item / fours / matrix.vectors;
  let base = batch * matrix.stride + line;
#for j in 0..4
  var line${j} = vec4<u32>();
#end
#for w in 0..4
  {
#for e in 0..4
    let k${e} = vector * 16u + ${4 * w + e}u;
    var row${e} = 0u;
    if (k${e} < matrix.k) { row${e} = word_of(in_a, base + k${e} * matrix.ld, matrix.last); }
#end
    let even0 = (row0 & 0x00ff00ffu) | ((row1 & 0x00ff00ffu) << 8u);
    let odd0 = ((row0 >> 8u) & 0x00ff00ffu) | (row1 & 0xff00ff00u);
    let even1 = (row2 & 0x00ff00ffu) | ((row3 & 0x00ff00ffu) << 8u);
    let odd1 = ((row2 >> 8u) & 0x00ff00ffu) | (row3 & 0xff00ff00u);
    line0[${w}] = (even0 & 0xffffu) | (even1 << 16u);
    line1[${w}] = (odd0 & 0xffffu) | (odd1 << 16u);
    line2[${w}] = (even0 >> 16u) | (even1 & 0xffff0000u);
    line3[${w}] = (odd0 >> 16u) | (odd1 & 0xffff0000u);
  }
#end
  let to = matrix.start + (batch * matrix.lines + line) * matrix.vectors + vector;
#for j in 0..4
  if (line + ${j}u < matrix.lines) { packed[to + ${j}u * matrix.vectors] = line${j}; }
#end
}
