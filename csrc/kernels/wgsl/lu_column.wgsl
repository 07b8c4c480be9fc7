// A step of the factors of a panel that lu_panel makes, by all workgroups. It exchanges rows for
// column `step` - 1 and eliminates by what the step before has left in `rows`, and leaves there
// what the next one needs: the row of column `step`'s diagonal, and of each chunk of rows from there
// on the one with the largest element in that column. Steps take turns with two halves of `rows`. A
// workgroup for each chunk, and a last one for the row of the diagonal.
// 0 x, 1 permutation, 2 status, 3 pivots, 4 rows.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  n: u32, at: u32, size: u32,
  first: u32,  // of the matrices
  step: u32,
  height: u32,  // of a chunk
  given: u32,   // chunks of the step before
  lines: u32,   // of a half of rows: one, and as many chunks as there may be
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> permutation: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> pivots: array<u32>;
@group(0) @binding(4) var<storage, read_write> rows: array<${NUMBER}>;
#let WALKERS = GROUP / BLOCK
// Rows of a work-item that are in its registers at a time.
#let EACH = 64 / WALKERS
// Chunks that are read at a time.
#let AT_ONCE = 4
// Numbers of a line: a row of the panel, the size of the element and the place of the row.
#let LINE = BLOCK + 2
var<workgroup> elements: array<${NUMBER}, ${GROUP}>;
var<workgroup> largest: array<${T}, ${WALKERS}>;
var<workgroup> places: array<u32, ${WALKERS}>;

/// Whether a row is a pivot before another one: of equal ones the first. NaN is none.
fn is_before(size: ${T}, place: u32, than: ${T}, its_place: u32) -> bool {
  return size > than || (size == than && place < its_place);
}
/// The walker that has found the pivot.
fn walker_of_pivot() -> u32 {
  var found = 0u;
  for (var w = 1u; w < ${WALKERS}u; w++) {
    if (is_before(largest[w], places[w], largest[found], places[found])) { found = w; }
  }
  return found;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let step = params.step;
  let size = params.size;
  let lane = local % ${BLOCK}u;
  let walker = local / ${BLOCK}u;
  let is_inside = lane < size;
  let is_last = group.x + 1u == groups.x;
  // Of the column that is eliminated; in the first step there is none.
  let eliminates = step > 0u;
  let j = max(step, 1u) - 1u;
  let top = params.at + j;
  let next_lane = min(step, ${BLOCK - 1}u);
  let of_x = matrix * n * n + params.at;
  let source = (2u * matrix + (step + 1u) % 2u) * params.lines * ${LINE}u;
  let into = (2u * matrix + step % 2u) * params.lines * ${LINE}u;

  let diagonal = params.at + step;
  let begin = diagonal + group.x * params.height;
  let end = select(min(begin + params.height, n), begin, is_last);
  if (params.at == 0u && step == 0u) {
    for (var row = begin + local; row < end; row += ${GROUP}u) {
      permutation[matrix * n + row] = row;
    }
  }
  // The pivot's row, and what stood on the diagonal before, which goes where that one was.
  var place = top;
  var pivot = ${NUMBER}();
  var pivot_own = ${NUMBER}();
  var pivot_next = ${NUMBER}();
  var head = ${NUMBER}();
  var head_own = ${NUMBER}();
  var head_next = ${NUMBER}();
  var best = ${T}(-1);
  var best_place = 0u;
  var best_own = ${NUMBER}();
  for (var tile = begin; tile == begin || tile < end; tile += 64u) {
#for i in 0..EACH
    var own${i} = ${NUMBER}();
    var column${i} = ${NUMBER}();
    var next${i} = ${NUMBER}();
    let row${i} = tile + walker + ${i * WALKERS}u;
    if (row${i} < end) {
      let line = of_x + row${i} * n;
      if (is_inside) { own${i} = x[line + lane]; }
      if (eliminates) { column${i} = x[line + j]; }
      if (step < size) { next${i} = x[line + step]; }
    }
#end
    if (tile == begin && eliminates) {
      var top_size = ${T}(-1);
      var top_place = 0u;
      var own = ${NUMBER}();
      for (var line = 1u + walker; line <= params.given; line += ${AT_ONCE * WALKERS}u) {
#for i in 0..AT_ONCE
        var size${i} = ${T}(-1);
        var place${i} = 0u;
        var element${i} = ${NUMBER}();
        if (line + ${i * WALKERS}u <= params.given) {
          let at_line = source + (line + ${i * WALKERS}u) * ${LINE}u;
          element${i} = rows[at_line + lane];
          size${i} = real_of(rows[at_line + ${BLOCK}u]);
          place${i} = u32(real_of(rows[at_line + ${BLOCK + 1}u]));
        }
#end
#for i in 0..AT_ONCE
        if (is_before(size${i}, place${i}, top_size, top_place)) {
          top_size = size${i};
          top_place = place${i};
          own = element${i};
        }
#end
      }
      elements[local] = own;
      if (lane == 0u) {
        largest[walker] = top_size;
        places[walker] = top_place;
      }
      head = rows[source + j];
      head_own = rows[source + lane];
      head_next = rows[source + next_lane];
      workgroupBarrier();
      let found = walker_of_pivot();
      pivot = head;
      pivot_own = head_own;
      pivot_next = head_next;
      // Where all are NaN the row on the diagonal stays.
      if (largest[found] >= ${T}(0)) {
        place = places[found];
        pivot = elements[found * ${BLOCK}u + j];
        pivot_own = elements[found * ${BLOCK}u + lane];
        pivot_next = elements[found * ${BLOCK}u + next_lane];
      }
      if (is_last) {
        if (walker == 0u && is_inside) { x[of_x + top * n + lane] = pivot_own; }
        if (local == 0u) {
          let is_exchanged = place != top;
          pivots[matrix * n + top] = place;
          if (is_exchanged) {
            let kept = permutation[matrix * n + top];
            permutation[matrix * n + top] = permutation[matrix * n + place];
            permutation[matrix * n + place] = kept;
          }
          var first_zero = 0u;
          var exchanges = 0u;
          if (top > 0u) {
            first_zero = status[2u * matrix];
            exchanges = status[2u * matrix + 1u];
          }
          if (first_zero == 0u && is_zero(pivot)) { first_zero = top + 1u; }
          status[2u * matrix] = first_zero;
          status[2u * matrix + 1u] = exchanges + select(0u, 1u, is_exchanged);
        }
      }
    }
    // All that is read of the tile is, before any of it is written.
    storageBarrier();
    workgroupBarrier();
#for i in 0..EACH
    if (row${i} < end) {
      if (eliminates) {
        let is_exchanged = row${i} == place;
        if (is_exchanged) {
          column${i} = head;
          own${i} = head_own;
          next${i} = head_next;
        }
        var factor = column${i};
        if (!is_zero(pivot)) { factor = quotient(factor, pivot); }
        next${i} = plus_product(next${i}, -factor, pivot_next);
        if (lane > j) { own${i} = plus_product(own${i}, -factor, pivot_own); }
        if (lane == j) { own${i} = factor; }
        if (is_inside && (lane >= j || is_exchanged)) { x[of_x + row${i} * n + lane] = own${i}; }
      }
      if (row${i} == diagonal) { rows[into + lane] = own${i}; }
      // Rows come in their order, so of equal ones the first.
      if (size_of(next${i}) > best) {
        best = size_of(next${i});
        best_place = row${i};
        best_own = own${i};
      }
    }
#end
  }
  if (step < size && !is_last) {
    elements[local] = best_own;
    if (lane == 0u) {
      largest[walker] = best;
      places[walker] = best_place;
    }
    workgroupBarrier();
    if (walker == 0u) {
      let found = walker_of_pivot();
      let line = into + (1u + group.x) * ${LINE}u;
      rows[line + lane] = elements[found * ${BLOCK}u + lane];
      if (lane == 0u) {
        rows[line + ${BLOCK}u] = of_real(largest[found]);
        rows[line + ${BLOCK + 1}u] = of_real(${T}(places[found]));
      }
    }
  }
}
