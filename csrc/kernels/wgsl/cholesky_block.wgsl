// Factors a block of at most 32 rows on the diagonal of each matrix, whose other triangle is 0, and
// notes the first pivot that is not positive. A workgroup for each matrix.
// 0 x, 1 status.
// Variables: GROUP.
//! GROUP: 256

struct Params { n: u32, at: u32, size: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> status: array<u32>;
#let LD = 33
var<workgroup> block: array<f32, ${32 * LD}>;

/// Above 0 by its bits, which NaN is not.
fn is_positive(value: f32) -> bool {
  let bits = bitcast<u32>(value);
  return bits > 0u && bits <= 0x7f800000u;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let base = (matrix * params.n + params.at) * params.n + params.at;
  let size = params.size;
  for (var e = local; e < 1024u; e += ${GROUP}u) {
    let i = e / 32u;
    let j = e % 32u;
    if (i < size && j < size) { block[i * ${LD}u + j] = x[base + i * params.n + j]; }
  }
  // Columns stay as they are, to be divided by the roots of their pivots at the end.
  for (var k = 0u; k < size; k++) {
    workgroupBarrier();
    let pivot = block[k * ${LD}u + k];
    for (var e = local; e < 1024u; e += ${GROUP}u) {
      let i = e / 32u;
      let j = e % 32u;
      if (i < size && j <= i && j > k) {
        block[i * ${LD}u + j] -= block[i * ${LD}u + k] * (block[j * ${LD}u + k] / pivot);
      }
    }
  }
  workgroupBarrier();
  for (var e = local; e < 1024u; e += ${GROUP}u) {
    let i = e / 32u;
    let j = e % 32u;
    if (i < size && j <= i) {
      x[base + i * params.n + j] = block[i * ${LD}u + j] / sqrt(block[j * ${LD}u + j]);
    }
  }
  if (local == 0u) {
    var found = 0u;
    for (var k = size; k > 0u; k--) {
      if (!is_positive(block[(k - 1u) * ${LD + 1}u])) { found = params.at + k; }
    }
    if (params.at == 0u || status[matrix] == 0u) { status[matrix] = found; }
  }
}
