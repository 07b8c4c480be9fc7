// Y = alpha * A X + beta * Y for A in CSR, of each product of a batch. LANES work-items side by side take neighbouring columns of
// X, EACH of them, LANES apart, and together a part of the workgroup's share of the merged list of
// rows' ends and elements (sparse_walk.wgsl). What the workgroup has of its first row, and of the
// one that it does not end, goes to `parts`, where sparse_join.wgsl goes on; where the list is
// one workgroup's, all is written here.
// 0 offsets, 1 columns, 2 values, 3 x, 4 y, 5 parts (of each share n sums of the first row, then of
// each those of the last one), 6 starts (the first row of each, and past the last one), 7 faults.
// Variables: GROUP, T, COMPLEX, LANES (a power of two), EACH, BLOCK (1: A is in BSR; the columns of a
// row of blocks are those of all its rows one after another).
//! T: f32 f16 f64
//! COMPLEX: 0 1
//! EACH: 1 2 4
//! BLOCK: 0 1
//! LANES: constant
//! GROUP: 256
//! only: T != "f16" or COMPLEX == 0
//! only: EACH == 1 or COMPLEX == 0 or (EACH == 2 and T == "f32")
//! only: EACH <= 2 or T != "f64"
#include "sparse_numbers.wgsl"
@group(0) @binding(0) var<storage, read> offsets: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<${NUMBER}>;
@group(0) @binding(3) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(4) var<storage, read_write> y: array<${NUMBER}>;
@group(0) @binding(5) var<storage, read_write> parts: array<${SUM}>;
@group(0) @binding(6) var<storage, read_write> starts: array<u32>;
@group(0) @binding(7) var<storage, read_write> faults: array<atomic<u32>>;
#include "sparse_write.wgsl"
#include "sparse_walk.wgsl"
#include "sparse_products.wgsl"
#include "sparse_scan.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  var n = params.n;
#if BLOCK
  n *= params.block_rows;
#end
  let index = group.x + group.y * groups.x;
  let own = index % params.groups;
  let across = (n + ${EACH}u * ${LANES}u - 1u) / (${EACH}u * ${LANES}u);
  let product = index / params.groups / across;
  if (product >= params.batch) { return; }
  choose(product);
  let parts_at = 2u * product * params.groups * n;
  let starts_at = product * (params.groups + 1u);
  let first = index / params.groups % across * ${EACH}u * ${LANES}u;
  let walker = local / ${LANES}u;
  let column = first + local % ${LANES}u;
  let each = params.share / (${GROUP}u / ${LANES}u);
  let begin = own * params.share;
  let low = min(begin + walker * each, params.total);
  let high = min(low + each, params.total);
  var row = rows_before(low);
  let start = row;
  var z = low - row;
  var end = 0u;
  if (row < params.rows) { end = row_end(row); }
  var some = false;
  var head_row = 0u;
#for c in 0..EACH
  var sum${c} = ${SUM}();
  var head${c} = ${SUM}();
#end
#if BLOCK
#for c in 0..EACH
  let line${c} = min(column + ${c}u * ${LANES}u, n - 1u) / params.n;
  let across${c} = min(column + ${c}u * ${LANES}u, n - 1u) % params.n;
#end
#end
  var k = low;
  while (k < high) {
    if (row < params.rows && end <= z) {
      if (some) {
#for c in 0..EACH
        if (column + ${c}u * ${LANES}u < n) {
          write_sum(row, column + ${c}u * ${LANES}u, sum${c});
        }
#end
      } else {
#for c in 0..EACH
        head${c} = sum${c};
#end
        head_row = row;
        some = true;
      }
#for c in 0..EACH
      sum${c} = ${SUM}();
#end
      row += 1u;
      if (row < params.rows) { end = row_end(row); }
      k += 1u;
    } else {
      // Elements up to the row's end, or the part's.
      var stop = z + (high - k);
      if (row < params.rows) { stop = min(stop, end); }
      k += stop - z;
      for (; z < stop; z++) {
        if (z < params.nnz) {
          let place = columns[columns_at + z];
          if (place < params.cols) {
#if BLOCK
            var x_row = x_at + place * params.block_cols * params.ldx;
#for c in 0..EACH
            var at${c} = values_at + (z * params.block_rows + line${c}) * params.block_cols;
#end
            for (var step = 0u; step < params.block_cols; step++) {
#for c in 0..EACH
              sum${c} = plus_product(sum${c}, ${SUM}(values[at${c}]), ${SUM}(x[x_row + across${c}]));
              at${c} += 1u;
#end
              x_row += params.ldx;
            }
#else
            let value = ${SUM}(values[values_at + z]);
            let at = x_at + place * params.ldx + column;
#for c in 0..EACH
            if (column + ${c}u * ${LANES}u < n) {
              sum${c} = plus_product(sum${c}, value, ${SUM}(x[at + ${c}u * ${LANES}u]));
            }
#end
#end
          } else {
            report(place);
          }
        }
      }
    }
  }
  let last = local + ${LANES}u >= ${GROUP}u;
#for c in 0..EACH
  scan(local, sum${c}, some);
  if (column + ${c}u * ${LANES}u < n) {
    if (some) {
      let whole = sum_before(local) + head${c};
      if (ended_before(local) || params.groups == 1u) {
        write_sum(head_row, column + ${c}u * ${LANES}u, whole);
      } else {
        parts[parts_at + own * n + column + ${c}u * ${LANES}u] = whole;
      }
    }
    if (last) {
      parts[parts_at + (params.groups + own) * n + column + ${c}u * ${LANES}u] = sums[local];
    }
  }
  workgroupBarrier();
#end
  if (local == 0u && first == 0u) { starts[starts_at + own] = start; }
  if (local == ${GROUP - 1}u && first == 0u && own + 1u == params.groups) {
    starts[starts_at + params.groups] = row;
  }
}
