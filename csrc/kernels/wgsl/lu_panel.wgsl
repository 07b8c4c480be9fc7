// Factors a panel of at most BLOCK columns of each matrix by partial pivoting, from its diagonal
// down: a workgroup for each matrix. Rows are exchanged within the panel alone. The work is on a
// copy by columns, so that neighbours read what lies side by side, brought there and back here where
// `turns` is 0: each column is made of those before it, and its pivot row as soon as the pivot is
// known.
// 0 x, 1 permutation, 2 status, 3 pivots, 4 panels.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, batch: u32, turns: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> permutation: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> pivots: array<u32>;
@group(0) @binding(4) var<storage, read_write> panels: array<${NUMBER}>;
var<workgroup> largest: array<${T}, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;
var<workgroup> pivot_row: array<${NUMBER}, ${BLOCK}>;
/// Of the triangle above the diagonal, what is there by now.
var<workgroup> upper: array<${NUMBER}, ${BLOCK * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  let size = params.size;
  let height = n - params.at;
  let base = (matrix * n + params.at) * n + params.at;
  let panel = matrix * n * ${BLOCK}u;
  if (params.at == 0u) {
    for (var i = local; i < n; i += ${GROUP}u) { permutation[matrix * n + i] = i; }
  }
  let lane = local % ${BLOCK}u;
  if (params.turns == 0u && lane < size) {
    for (var row = local / ${BLOCK}u; row < height; row += ${GROUP / BLOCK}u) {
      panels[panel + lane * height + row] = x[base + row * n + lane];
    }
  }
  storageBarrier();
  workgroupBarrier();
  var exchanges = 0u;
  var first_zero = 0u;
  for (var j = 0u; j < size; j++) {
    let column = panel + j * height;
    var top = ${T}(-1);
    var place = j;
    // A work-item has the same rows in each column.
    for (var row = local + (j + ${GROUP - 1}u - local) / ${GROUP}u * ${GROUP}u; row < height;
         row += ${GROUP}u) {
      var value = panels[column + row];
      for (var k = 0u; k < j; k++) {
        value = plus_product(value, -panels[panel + k * height + row], upper[k * ${BLOCK}u + j]);
      }
      panels[column + row] = value;
      if (size_of(value) > top) {
        top = size_of(value);
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
    storageBarrier();
    if (local < size) {
      let here = panel + local * height + j;
      let there = panel + local * height + pivot;
      let value = panels[there];
      pivot_row[local] = value;
      if (pivot != j) {
        panels[there] = panels[here];
        panels[here] = value;
      }
    }
    if (local == 0u) {
      pivots[matrix * n + params.at + j] = params.at + pivot;
      if (pivot != j) {
        exchanges += 1u;
        let one = matrix * n + params.at + j;
        let other = matrix * n + params.at + pivot;
        let kept = permutation[one];
        permutation[one] = permutation[other];
        permutation[other] = kept;
      }
    }
    workgroupBarrier();
    if (local >= j && local < size) {
      var value = pivot_row[local];
      if (local > j) {
        for (var k = 0u; k < j; k++) {
          value = plus_product(value, -pivot_row[k], upper[k * ${BLOCK}u + local]);
        }
        panels[panel + local * height + j] = value;
      }
      upper[j * ${BLOCK}u + local] = value;
    }
    storageBarrier();
    workgroupBarrier();
    let divisor = pivot_row[j];
    if (is_zero(divisor)) {
      if (first_zero == 0u) { first_zero = params.at + j + 1u; }
    } else {
      for (var row = local + (j + ${GROUP}u - local) / ${GROUP}u * ${GROUP}u; row < height;
           row += ${GROUP}u) {
        panels[column + row] = quotient(panels[column + row], divisor);
      }
    }
  }
  storageBarrier();
  workgroupBarrier();
  if (params.turns == 0u && lane < size) {
    for (var row = local / ${BLOCK}u; row < height; row += ${GROUP / BLOCK}u) {
      x[base + row * n + lane] = panels[panel + lane * height + row];
    }
  }
  if (local == 0u) {
    let begins = params.at == 0u;
    let zero_before = select(status[2u * matrix], 0u, begins);
    status[2u * matrix] = select(zero_before, first_zero, zero_before == 0u);
    status[2u * matrix + 1u] = select(status[2u * matrix + 1u], 0u, begins) + exchanges;
  }
}
