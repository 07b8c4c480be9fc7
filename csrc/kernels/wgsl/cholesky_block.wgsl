// Factors a block of at most BLOCK rows on the diagonal of each matrix, whose other triangle is 0, and
// notes the first pivot that is not positive. A workgroup for each matrix.
// 0 x, 1 status.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> status: array<u32>;
#let LD = BLOCK + 1
var<workgroup> block: array<${NUMBER}, ${BLOCK * LD}>;

/// Above 0 by its bits, which NaN is not.
fn is_positive(value: ${T}) -> bool {
  let bits = bitcast<${BITS}>(value);
  return bits > ${BITS}(0) && bits <= ${INFINITE};
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let base = (matrix * params.n + params.at) * params.n + params.at;
  let size = params.size;
  for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
    let i = e / ${BLOCK}u;
    let j = e % ${BLOCK}u;
    if (i < size && j < size) { block[i * ${LD}u + j] = x[base + i * params.n + j]; }
  }
  // Columns stay as they are, to be divided by the roots of their pivots at the end.
  for (var k = 0u; k < size; k++) {
    workgroupBarrier();
    let pivot = real_of(block[k * ${LD}u + k]);
    for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
      let i = e / ${BLOCK}u;
      let j = e % ${BLOCK}u;
      if (i < size && j <= i && j > k) {
        let factor = conjugate(block[j * ${LD}u + k]) / pivot;
        block[i * ${LD}u + j] -= product(block[i * ${LD}u + k], factor);
      }
    }
  }
  workgroupBarrier();
  for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
    let i = e / ${BLOCK}u;
    let j = e % ${BLOCK}u;
    if (i < size && j <= i) {
      var value = block[i * ${LD}u + j];
      if (i == j) { value = of_real(real_of(value)); }
      x[base + i * params.n + j] = value / sqrt(real_of(block[j * ${LD}u + j]));
    }
  }
  if (local == 0u) {
    var found = 0u;
    for (var k = size; k > 0u; k--) {
      if (!is_positive(real_of(block[(k - 1u) * ${LD + 1}u]))) { found = params.at + k; }
    }
    if (params.at == 0u || status[matrix] == 0u) { status[matrix] = found; }
  }
}
