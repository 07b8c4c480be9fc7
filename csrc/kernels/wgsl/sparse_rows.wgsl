// y = alpha * A x + beta * y for A in CSR whose rows are short. A workgroup takes params.share rows,
// at most one a work-item. All work-items multiply the rows' elements into workgroup memory, side by
// side, and then one or several add up each row: of as many rows at a time as find room there. A row
// that finds none alone is added up by all of them, or with LONG left to sparse_pieces.wgsl, to which
// `owners` says it.
// 0 offsets, 1 columns, 2 values, 3 x, 4 y, 5 faults; with LONG 6 owners (of each PIECE elements the
// long row that has the first of them; what is not written means nothing).
// Variables: GROUP, T, COMPLEX, LONG.
//! T: f32 f16 f64
//! COMPLEX: 0 1
//! LONG: 0 1
//! GROUP: 256
//! only: T != "f16" or COMPLEX == 0
#include "sparse_numbers.wgsl"
@group(0) @binding(0) var<storage, read> offsets: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<${NUMBER}>;
@group(0) @binding(3) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(4) var<storage, read_write> y: array<${NUMBER}>;
@group(0) @binding(5) var<storage, read_write> faults: array<atomic<u32>>;
#if LONG
@group(0) @binding(6) var<storage, read_write> owners: array<u32>;
#end
#let BLOCK = 0
#include "sparse_write.wgsl"
#include "sparse_walk.wgsl"
#include "sparse_products.wgsl"
#include "sparse_stage.wgsl"
var<workgroup> products: array<${SUM}, ${STAGE}>;
#include "sparse_sum.wgsl"

// Of the rows that follow `start` of the offsets: what is private counts as each work-item's own, and
// how far a workgroup goes has to be the same for all of them.
fn begin_of(start: u32, row: u32) -> u32 { return min(offsets[start + row], params.nnz); }

/// products[i] of the elements from `base` on.
fn multiply(base: u32, count: u32, local: u32) {
  var outside = 0u;
  var is_outside = false;
#for i in 0..ITEMS
  let at${i} = local + ${i * GROUP}u;
  var column${i} = 0u;
  var value${i} = ${SUM}();
  if (at${i} < count) {
    column${i} = columns[columns_at + base + at${i}];
    value${i} = ${SUM}(values[values_at + base + at${i}]);
  }
#end
#for i in 0..ITEMS
  if (at${i} < count) {
    let inside = column${i} < params.cols;
    if (!inside) {
      outside = column${i};
      is_outside = true;
    }
    let factor = ${SUM}(x[x_at + select(0u, column${i} * params.ldx, inside)]);
    products[at${i}] = plus_product(${SUM}(), value${i}, factor);
  }
#end
  if (is_outside) { report(outside); }
}

#if !LONG
/// Of a row's elements that find no room, what a work-item has.
fn share_of_row(base: u32, end: u32, local: u32) -> ${SUM} {
  var sum = ${SUM}();
  for (var z = base + local; z < end; z += ${GROUP}u) {
    let column = columns[columns_at + z];
    let value = ${SUM}(values[values_at + z]);
    if (column < params.cols) {
      sum = plus_product(sum, value, ${SUM}(x[x_at + column * params.ldx]));
    } else {
      report(column);
    }
  }
  return sum;
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let product = index / params.groups;
  if (product >= params.batch) { return; }
  choose(product);
  let start = product * params.step_offsets;
  var low = index % params.groups * params.share;
  let high = min(low + params.share, params.rows);
  while (low < high) {
    let base = begin_of(start, low);
    var top = high;
    if (begin_of(start, high) - base > ${ROOM}u) {
      // As many rows as find room.
      top = low;
      var left = high - low;
      while (left > 1u) {
        let half = left / 2u;
        if (begin_of(start, top + half) - base <= ${ROOM}u) {
          top += half;
          left -= half;
        } else {
          left = half;
        }
      }
    }
    if (top > low) {
      let count = begin_of(start, top) - base;
      let rows = top - low;
      var walkers = 1u;  // of a row
      while (2u * walkers * rows <= ${GROUP}u && 2u * walkers * rows <= count) { walkers *= 2u; }
      let row = low + local / walkers;
      let walker = local % walkers;
      var z = 0u;
      var end = 0u;
      if (row < top) {
        z = min(begin_of(start, row) - base, count) + walker;
        end = min(begin_of(start, row + 1u) - base, count);
      }
      multiply(base, count, local);
      workgroupBarrier();
      var sum = ${SUM}();
      for (; z + 3u * walkers < end; z += 4u * walkers) {
        sum += (products[z] + products[z + walkers]) +
               (products[z + 2u * walkers] + products[z + 3u * walkers]);
      }
      for (; z < end; z += walkers) { sum += products[z]; }
      if (walkers > 1u) { sum = sum_of(sum, walkers, local); }
      if (row < top && walker == 0u) { write_sum(row, 0u, sum); }
      workgroupBarrier();
      low = top;
    } else {
      let end = max(begin_of(start, low + 1u), base);
#if LONG
      for (var i = (base + ${PIECE - 1}u) / ${PIECE}u + local; i * ${PIECE}u < end;
           i += ${GROUP}u) {
        owners[product * params.pieces + i] = low;
      }
#else
      let sum = sum_of(share_of_row(base, end, local), ${GROUP}u, local);
      if (local == 0u) { write_sum(low, 0u, sum); }
#end
      low += 1u;
    }
  }
}
