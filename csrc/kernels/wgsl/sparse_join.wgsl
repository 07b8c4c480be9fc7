// Joins what workgroups of sparse_vector.wgsl or sparse_columns.wgsl have of rows that no one of them
// has all of. LANES work-items side by side take neighbouring columns; those that follow each other
// share out the workgroups, in their order.
// 0 y, 1 parts, 2 starts.
// Variables: GROUP, T, COMPLEX, LANES (a power of two), BLOCK (1: a row is one of blocks).
//! T: f32 f16 f64
//! COMPLEX: 0 1
//! BLOCK: 0 1
//! LANES: constant
//! GROUP: 256
//! only: T != "f16" or COMPLEX == 0
#include "sparse_numbers.wgsl"
@group(0) @binding(0) var<storage, read_write> y: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> parts: array<${SUM}>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
#include "sparse_write.wgsl"
#include "sparse_scan.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  var n = params.n;
#if BLOCK
  n *= params.block_rows;
#end
  let index = group.x + group.y * groups.x;
  let across = (n + ${LANES}u - 1u) / ${LANES}u;
  let product = index / across;
  if (product >= params.batch) { return; }
  choose(product);
  let parts_at = 2u * product * params.groups * n;
  let starts_at = product * (params.groups + 1u);
  let column = index % across * ${LANES}u + local % ${LANES}u;
  let walkers = ${GROUP}u / ${LANES}u;
  let each = (params.groups + walkers - 1u) / walkers;
  let low = local / ${LANES}u * each;
  let inside = column < n;
  let high = select(0u, min(low + each, params.groups), inside);
  var sum = ${SUM}();
  var head = ${SUM}();
  var head_row = 0u;
  var some = false;
  for (var i = low; i < high; i++) {
    let tail = parts[parts_at + (params.groups + i) * n + column];
    let row = starts[starts_at + i];
    if (starts[starts_at + i + 1u] > row) {
      let whole = sum + parts[parts_at + i * n + column];
      if (some) {
        write_sum(row, column, whole);
      } else {
        head = whole;
        head_row = row;
        some = true;
      }
      sum = tail;
    } else {
      sum += tail;
    }
  }
  scan(local, sum, some);
  if (some) { write_sum(head_row, column, sum_before(local) + head); }
}
