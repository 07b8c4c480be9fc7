// Factors a panel of at most BLOCK columns of each matrix by partial pivoting, from its diagonal down:
// a workgroup for each matrix. Rows are exchanged within the panel alone.
// 0 x, 1 permutation, 2 status, 3 pivots.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> permutation: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> pivots: array<u32>;
var<workgroup> largest: array<${T}, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;
var<workgroup> pivot_row: array<${NUMBER}, ${BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  let base = matrix * n * n;
  let size = params.size;
  if (params.at == 0u) {
    for (var i = local; i < n; i += ${GROUP}u) { permutation[matrix * n + i] = i; }
  }
  var exchanges = 0u;
  var first_zero = 0u;
  for (var j = 0u; j < size; j++) {
    let k = params.at + j;
    var top = ${T}(-1);
    var place = k;
    for (var row = k + local; row < n; row += ${GROUP}u) {
      let value = size_of(x[base + row * n + k]);
      if (value > top) {
        top = value;
        place = row;
      }
    }
    largest[local] = top;
    places[local] = place;
    workgroupBarrier();
    // Of equal ones the first row.
    for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
      if (local < half) {
        let other = largest[local + half];
        let row = places[local + half];
        if (other > largest[local] || (other == largest[local] && row < places[local])) {
          largest[local] = other;
          places[local] = row;
        }
      }
      workgroupBarrier();
    }
    let pivot = places[0];
    if (local < size) {
      let here = base + k * n + params.at + local;
      let there = base + pivot * n + params.at + local;
      let value = x[there];
      pivot_row[local] = value;
      if (pivot != k) {
        x[there] = x[here];
        x[here] = value;
      }
    }
    if (local == 0u) {
      pivots[matrix * n + k] = pivot;
      if (pivot != k) {
        exchanges += 1u;
        let kept = permutation[matrix * n + k];
        permutation[matrix * n + k] = permutation[matrix * n + pivot];
        permutation[matrix * n + pivot] = kept;
      }
    }
    storageBarrier();
    workgroupBarrier();
    let divisor = pivot_row[j];
    if (is_zero(divisor)) {
      if (first_zero == 0u) { first_zero = k + 1u; }
    } else {
      for (var row = k + 1u + local; row < n; row += ${GROUP}u) {
        x[base + row * n + k] = quotient(x[base + row * n + k], divisor);
      }
    }
    storageBarrier();
    workgroupBarrier();
    let column = local % ${BLOCK}u;
    if (column > j && column < size) {
      for (var row = k + 1u + local / ${BLOCK}u; row < n; row += ${GROUP / BLOCK}u) {
        let at = base + row * n;
        x[at + params.at + column] -= product(x[at + k], pivot_row[column]);
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (local == 0u) {
    let begins = params.at == 0u;
    let zero_before = select(status[2u * matrix], 0u, begins);
    status[2u * matrix] = select(zero_before, first_zero, zero_before == 0u);
    status[2u * matrix + 1u] = select(status[2u * matrix + 1u], 0u, begins) + exchanges;
  }
}
