// Factors a block of at most BLOCK rows on the diagonal of each matrix, whose other triangle is 0,
// divides what is below it by the factor, and notes the first pivot that is not positive. Each
// workgroup factors the block for itself and takes OWN rows below it, one column after another for
// all of them. Others still read the block on the diagonal, so its factor goes to `kept`, and from
// there to its place in the launch of the next block; that of the last block goes there at once.
// 0 x, 1 status, 2 kept.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  n: u32, at: u32, size: u32,
  first: u32,   // of the matrices
  before: u32,  // rows of the block before, whose factor is in kept; 0 in the first launch
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> status: array<u32>;
@group(0) @binding(2) var<storage, read_write> kept: array<${NUMBER}>;
// Columns of a work-item: EACH, LANES apart.
#let EACH = 4
#let LANES = BLOCK / EACH
#let WALKERS = GROUP / LANES
// Rows of a work-item, WALKERS apart: those of the block first.
#let DEEP = 3
#if T == "f64"
#let DEEP = 2
#end
#let ROWS = WALKERS * DEEP
#let OWN = ROWS - BLOCK
// The column that is eliminated; two take turns, so that a step has one barrier.
var<workgroup> column: array<${NUMBER}, ${2 * ROWS}>;

/// Above 0 by its bits, which NaN is not.
fn is_positive(value: ${T}) -> bool {
  let bits = bitcast<${BITS}>(value);
  return bits > ${BITS}(0) && bits <= ${INFINITE};
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let size = params.size;
  let lane = local % ${LANES}u;
  let walker = local / ${LANES}u;
  let base = matrix * n * n + params.at;
#for e in 0..DEEP
  let place${e} = walker + ${e * WALKERS}u;
  let is_of_block${e} = place${e} < ${BLOCK}u;
  let row${e} = params.at + place${e} + select(group.x * ${OWN}u, 0u, is_of_block${e});
  let is_inside${e} = select(row${e} < n, place${e} < size, is_of_block${e});
#for m in 0..EACH
  var value${e}_${m} = ${NUMBER}();
  if (is_inside${e} && lane + ${m * LANES}u < size) {
    value${e}_${m} = x[base + row${e} * n + lane + ${m * LANES}u];
  }
#end
#end
  var found = 0u;
  // Columns stay as they are, to be divided by the roots of their pivots at the end.
#for m in 0..EACH
  var root${m} = ${T}(1);
  for (var q = 0u; q < ${LANES}u; q++) {
    let k = q + ${m * LANES}u;
    if (k >= size) { break; }
    let start = (k % 2u) * ${ROWS}u;
    if (lane == q) {
#for e in 0..DEEP
      column[start + place${e}] = value${e}_${m};
#end
    }
    workgroupBarrier();
    let pivot = real_of(column[start + k]);
    if (lane == q) { root${m} = sqrt(pivot); }
    if (found == 0u && !is_positive(pivot)) { found = params.at + k + 1u; }
#for e in 0..DEEP
    let factor${e} = column[start + place${e}];
#end
    if (lane > q) {
      let by = conjugate(column[start + lane + ${m * LANES}u]) / pivot;
#for e in 0..DEEP
      value${e}_${m} -= product(factor${e}, by);
#end
    }
#for j in m + 1..EACH
    {
      let by = conjugate(column[start + lane + ${j * LANES}u]) / pivot;
#for e in 0..DEEP
      value${e}_${j} -= product(factor${e}, by);
#end
    }
#end
  }
#end
  let is_last = params.at + size == n;
#for e in 0..DEEP
#for m in 0..EACH
  {
    let j = lane + ${m * LANES}u;
    let at_x = base + row${e} * n + j;
    if (!is_of_block${e}) {
      if (is_inside${e} && j < size) { x[at_x] = value${e}_${m} / root${m}; }
    } else if (group.x == 0u && j <= place${e}) {
      let at_kept = (matrix * ${BLOCK}u + place${e}) * ${BLOCK}u + j;
      if (place${e} < params.before) {
        x[at_x - params.before * (n + 1u)] = kept[at_kept];
      }
      if (place${e} < size) {
        var value = value${e}_${m};
        if (j == place${e}) { value = of_real(real_of(value)); }
        value = value / root${m};
        if (is_last) { x[at_x] = value; } else { kept[at_kept] = value; }
      }
    }
  }
#end
#end
  if (group.x == 0u && local == 0u) {
    if (params.at == 0u || status[matrix] == 0u) { status[matrix] = found; }
  }
}
