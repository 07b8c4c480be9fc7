// Factors a panel of at most BLOCK columns of each matrix by partial pivoting, from its diagonal
// down, as lu_panel does, where a workgroup's registers hold the rows of AT_ONCE columns: a
// workgroup for each matrix. The panel lies by columns in `panels`; where `turns` is 0 it is brought
// there and back here.
// 0 x, 1 permutation, 2 status, 3 pivots, 4 panels.
// Variables: GROUP, T, COMPLEX, ROWS (a work-item's).
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
//! ROWS: 1 2 4
//! only: ROWS * (2 if T == "f64" else 1) * (2 if COMPLEX else 1) == 4
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, batch: u32, turns: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> permutation: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> pivots: array<u32>;
@group(0) @binding(4) var<storage, read_write> panels: array<${NUMBER}>;
#let AT_ONCE = 8
#if T == "f64" && COMPLEX
#let AT_ONCE = 4
#end
// Values of the panel's other columns that a work-item has in hand as rows are exchanged.
#let HELD = ((BLOCK - AT_ONCE) * 2 * AT_ONCE + GROUP - 1) / GROUP
var<workgroup> largest: array<${T}, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;
var<workgroup> pivot_row: array<${NUMBER}, ${AT_ONCE}>;
var<workgroup> other_row: array<${NUMBER}, ${AT_ONCE}>;
var<workgroup> triangle: array<${NUMBER}, ${AT_ONCE * AT_ONCE}>;
/// Rows of U, of the columns at hand.
var<workgroup> upper: array<${NUMBER}, ${AT_ONCE * AT_ONCE}>;
/// The row that each of the panel's rows was exchanged with.
var<workgroup> exchanged: array<u32, ${BLOCK}>;

/// The row that is at `place` after the exchanges of rows [first, end).
fn came_from(place: u32, first: u32, end: u32) -> u32 {
  var row = place;
  for (var k = end; k > first; k--) {
    let other = exchanged[k - 1u];
    if (row == k - 1u) { row = other; } else if (row == other) { row = k - 1u; }
  }
  return row;
}
/// Whether no row of [first, end) nor an exchange before the k-th is with that place: each place is
/// written once.
fn is_apart(place: u32, first: u32, k: u32, end: u32) -> bool {
  var apart = place >= end;
  for (var before = first; before < k; before++) { apart = apart && exchanged[before] != place; }
  return apart;
}

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
  let lane = local % ${BLOCK}u;
  if (params.at == 0u) {
    for (var i = local; i < n; i += ${GROUP}u) { permutation[matrix * n + i] = i; }
  }
  if (params.turns == 0u && lane < size) {
    for (var row = local / ${BLOCK}u; row < height; row += ${GROUP / BLOCK}u) {
      panels[panel + lane * height + row] = x[base + row * n + lane];
    }
  }
  storageBarrier();
  workgroupBarrier();
  var exchanges = 0u;
  var first_zero = 0u;
#for i in 0..ROWS
  let row${i} = local + ${i * GROUP}u;
#end
  for (var from_column = 0u; from_column < size; from_column += ${AT_ONCE}u) {
    let width = min(${AT_ONCE}u, size - from_column);
    let columns = panel + from_column * height;
#for i in 0..ROWS
#for c in 0..AT_ONCE
    var v${i}_${c} = ${NUMBER}();
#end
    if (row${i} < height) {
#for c in 0..AT_ONCE
      if (${c}u < width) { v${i}_${c} = panels[columns + ${c}u * height + row${i}]; }
#end
    }
#end
    // What the columns before have to do with these.
    for (var before = 0u; before < from_column; before += ${AT_ONCE}u) {
      let is_top = local >= before && local < before + ${AT_ONCE}u;
      let above = panel + before * height;
      if (is_top) {
#for c in 0..AT_ONCE
        upper[(local - before) * ${AT_ONCE}u + ${c}u] = v0_${c};
#end
      }
      if (local < ${AT_ONCE * AT_ONCE}u) {
        triangle[local] =
            panels[above + local % ${AT_ONCE}u * height + before + local / ${AT_ONCE}u];
      }
      workgroupBarrier();
      if (local < ${AT_ONCE}u) {
#for k in 0..AT_ONCE
        var u${k} = upper[${k * AT_ONCE}u + local];
#for m in 0..k
        u${k} = plus_product(u${k}, -triangle[${k * AT_ONCE + m}u], u${m});
#end
        upper[${k * AT_ONCE}u + local] = u${k};
#end
      }
      workgroupBarrier();
      if (is_top) {
#for c in 0..AT_ONCE
        v0_${c} = upper[(local - before) * ${AT_ONCE}u + ${c}u];
#end
      }
#for i in 0..ROWS
      if (row${i} >= before + ${AT_ONCE}u && row${i} < height) {
#for k in 0..AT_ONCE
        let l${k} = -panels[above + ${k}u * height + row${i}];
#end
#for k in 0..AT_ONCE
#for c in 0..AT_ONCE
        v${i}_${c} = plus_product(v${i}_${c}, l${k}, upper[${k * AT_ONCE + c}u]);
#end
#end
      }
#end
      workgroupBarrier();
    }
#for j in 0..AT_ONCE
    if (${j}u < width) {
      let at_row = from_column + ${j}u;
      var top = ${T}(-1);
      var place = at_row;
#for i in 0..ROWS
      if (row${i} >= at_row && row${i} < height) {
        let here = size_of(v${i}_${j});
        if (here > top) {
          top = here;
          place = row${i};
        }
      }
#end
      largest[local] = top;
      places[local] = place;
      workgroupBarrier();
      // Of equal ones the first row.
      var left = ${GROUP}u;
      while (left > 16u) {
        let part = left / 8u;
        if (local < part) {
          for (var other = local + part; other < left; other += part) {
            if (largest[other] > top || (largest[other] == top && places[other] < place)) {
              top = largest[other];
              place = places[other];
            }
          }
          largest[local] = top;
          places[local] = place;
        }
        left = part;
        workgroupBarrier();
      }
      top = largest[0];
      place = places[0];
      for (var other = 1u; other < left; other++) {
        if (largest[other] > top || (largest[other] == top && places[other] < place)) {
          top = largest[other];
          place = places[other];
        }
      }
#for i in 0..ROWS
      if (row${i} == place) {
#for c in 0..AT_ONCE
        pivot_row[${c}] = v${i}_${c};
#end
      }
#end
      if (local == at_row) {
#for c in 0..AT_ONCE
        other_row[${c}] = v0_${c};
#end
        exchanged[at_row] = place;
        pivots[matrix * n + params.at + at_row] = params.at + place;
      }
      workgroupBarrier();
      if (place != at_row) {
        exchanges += 1u;
#for i in 0..ROWS
        if (row${i} == place) {
#for c in 0..AT_ONCE
          v${i}_${c} = other_row[${c}];
#end
        }
#end
        if (local == at_row) {
#for c in 0..AT_ONCE
          v0_${c} = pivot_row[${c}];
#end
        }
      }
      let divisor = pivot_row[${j}];
      let vanishes = is_zero(divisor);
      if (vanishes && first_zero == 0u) { first_zero = params.at + at_row + 1u; }
#for i in 0..ROWS
      if (row${i} > at_row && row${i} < height) {
        if (!vanishes) { v${i}_${j} = quotient(v${i}_${j}, divisor); }
#for c in j + 1..AT_ONCE
        v${i}_${c} = plus_product(v${i}_${c}, -v${i}_${j}, pivot_row[${c}]);
#end
      }
#end
    }
#end
#for i in 0..ROWS
    if (row${i} < height) {
#for c in 0..AT_ONCE
      if (${c}u < width) { panels[columns + ${c}u * height + row${i}] = v${i}_${c}; }
#end
    }
#end
    // The panel's other columns follow.
#for h in 0..HELD
    var value${h} = ${NUMBER}();
    var into${h} = 0xffffffffu;
    {
      let e = local + ${h * GROUP}u;
      let k = from_column + e % ${AT_ONCE}u;
      let other = e / ${2 * AT_ONCE}u;
      let column = select(other + width, other, other < from_column);
      if (column < size && k < from_column + width) {
        let end = from_column + width;
        let is_below = e % ${2 * AT_ONCE}u >= ${AT_ONCE}u;
        let to = select(k, exchanged[k], is_below);
        if (!is_below || is_apart(to, from_column, k, end)) {
          into${h} = panel + column * height + to;
          value${h} = panels[panel + column * height + came_from(to, from_column, end)];
        }
      }
    }
#end
    storageBarrier();
    workgroupBarrier();
#for h in 0..HELD
    if (into${h} != 0xffffffffu) { panels[into${h}] = value${h}; }
#end
    storageBarrier();
    workgroupBarrier();
  }
  let is_permuted = local < 2u * size;
  var moved = 0u;
  var to = 0xffffffffu;
  if (is_permuted) {
    let k = local % size;
    let is_below = local >= size;
    to = select(k, exchanged[k], is_below);
    if (is_below && !is_apart(to, 0u, k, size)) { to = 0xffffffffu; }
    if (to != 0xffffffffu) {
      moved = permutation[matrix * n + params.at + came_from(to, 0u, size)];
    }
  }
  storageBarrier();
  workgroupBarrier();
  if (to != 0xffffffffu) { permutation[matrix * n + params.at + to] = moved; }
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
