// Y = alpha * A X + beta * Y for A in CSR. LANES work-items side by side take neighbouring columns of
// X, EACH of them, LANES apart, and together a part of the workgroup's share of the merged list of
// rows' ends and elements (sparse_walk.wgsl). What the workgroup has of its first row, and of the
// one that it does not end, goes to `parts`, where sparse_join.wgsl goes on; where the list is
// one workgroup's, all is written here.
// 0 offsets, 1 columns, 2 values, 3 x, 4 y, 5 parts (of each share n sums of the first row, then of
// each those of the last one), 6 starts (the first row of each, and past the last one), 7 faults.
// Variables: GROUP, T, COMPLEX, LANES (a power of two), EACH.
//! T: f32 f16 f64
//! COMPLEX: 0 1
//! EACH: 1 2 4
//! LANES: constant
//! GROUP: 256
//! only: T != "f16" or COMPLEX == 0
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
#include "sparse_scan.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let own = index % params.groups;
  let first = index / params.groups * ${EACH}u * ${LANES}u;
  if (first >= params.n) { return; }
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
  var k = low;
  while (k < high) {
    if (row < params.rows && end <= z) {
      if (some) {
#for c in 0..EACH
        if (column + ${c}u * ${LANES}u < params.n) {
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
          let place = columns[z];
          if (place < params.cols) {
            let value = ${SUM}(values[z]);
            let at = place * params.ldx + column;
#for c in 0..EACH
            if (column + ${c}u * ${LANES}u < params.n) {
              sum${c} = plus_product(sum${c}, value, ${SUM}(x[at + ${c}u * ${LANES}u]));
            }
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
  if (column + ${c}u * ${LANES}u < params.n) {
    if (some) {
      let whole = sum_before(local) + head${c};
      if (ended_before(local) || params.groups == 1u) {
        write_sum(head_row, column + ${c}u * ${LANES}u, whole);
      } else {
        parts[own * params.n + column + ${c}u * ${LANES}u] = whole;
      }
    }
    if (last) {
      parts[(params.groups + own) * params.n + column + ${c}u * ${LANES}u] = sums[local];
    }
  }
  workgroupBarrier();
#end
  if (local == 0u && first == 0u) { starts[own] = start; }
  if (local == ${GROUP - 1}u && first == 0u && own + 1u == params.groups) {
    starts[params.groups] = row;
  }
}
