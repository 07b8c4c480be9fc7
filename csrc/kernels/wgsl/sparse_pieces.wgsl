// The rows that sparse_rows.wgsl leaves over: pieces of PIECE elements, of which those of long rows
// are added up by a workgroup each, into `parts`. With JOIN then these, row by row, into y.
// A piece that starts in such a row has its elements up to the next one, and the first of them those
// before it as well. Offsets that make no sense reach nothing outside.
// 0 offsets, 1 columns, 2 values, 3 x, 4 owners (sparse_rows.wgsl), 5 parts, 6 faults; with
// JOIN 0 offsets, 1 y, 2 owners, 3 parts.
// Variables: GROUP, T, COMPLEX, JOIN.
//! T: f32 f16 f64
//! COMPLEX: 0 1
//! JOIN: 0 1
//! GROUP: 256
//! only: T != "f16" or COMPLEX == 0
#include "sparse_numbers.wgsl"
@group(0) @binding(0) var<storage, read> offsets: array<u32>;
#if JOIN
@group(0) @binding(1) var<storage, read_write> y: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read> owners: array<u32>;
@group(0) @binding(3) var<storage, read> parts: array<${SUM}>;
#let BLOCK = 0
#include "sparse_write.wgsl"
#else
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<${NUMBER}>;
@group(0) @binding(3) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(4) var<storage, read> owners: array<u32>;
@group(0) @binding(5) var<storage, read_write> parts: array<${SUM}>;
@group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
#include "sparse_products.wgsl"
#end
#include "sparse_walk.wgsl"
#include "sparse_stage.wgsl"
#include "sparse_sum.wgsl"
var<workgroup> counted: array<atomic<u32>, 1>;
var<workgroup> counts: array<u32, 1>;
var<workgroup> found: array<u32, ${GROUP}>;

fn row_begin(row: u32) -> u32 { return min(offsets[offsets_at + row], params.nnz); }

/// Whether there is work of a piece.
fn is_asked_for(piece: u32) -> bool {
  choose(piece / params.pieces);
  let start = piece % params.pieces * ${PIECE}u;
  let row = owners[piece];
  if (row >= params.rows) { return false; }
  let begin = row_begin(row);
  let end = row_end(row);
#if JOIN
  if (start >= begin + ${PIECE}u) { return false; }
#end
  return begin <= start && start < end && end - begin > ${ROOM}u;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let walker = group.x + group.y * groups.x;
  if (walker >= params.groups) { return; }
  let all = params.pieces * params.batch;
  for (var next = walker; next < all; next += params.groups * ${GROUP}u) {
    if (local == 0u) { atomicStore(&counted[0], 0u); }
    workgroupBarrier();
    let own = next + local * params.groups;
    if (own < all) {
      if (is_asked_for(own)) { found[atomicAdd(&counted[0], 1u)] = own; }
    }
    workgroupBarrier();
    if (local == 0u) { counts[0] = atomicLoad(&counted[0]); }
#if EXACT
    workgroupBarrier();
    let count = counts[0];
#else
    // Between barriers of its own; WGSL's compilers then know that it is the same for all.
    let count = workgroupUniformLoad(&counts[0]);
#end
    for (var k = 0u; k < count; k++) {
      let piece = found[k];
      choose(piece / params.pieces);
      let start = piece % params.pieces * ${PIECE}u;
      let row = owners[piece];
      let begin = row_begin(row);
      let end = row_end(row);
      var sum = ${SUM}();
#if JOIN
      for (var i = local; start + i * ${PIECE}u < end; i += ${GROUP}u) { sum += parts[piece + i]; }
      sum = sum_of(sum, ${GROUP}u, local);
      if (local == 0u) { write_sum(row, 0u, sum); }
#else
      let first = select(start, begin, start < begin + ${PIECE}u);
      let past = min(start + ${PIECE}u, end);
      for (var z = first + local; z < past; z += ${GROUP}u) {
        let column = columns[columns_at + z];
        if (column < params.cols) {
          let value = ${SUM}(values[values_at + z]);
          sum = plus_product(sum, value, ${SUM}(x[x_at + column * params.ldx]));
        } else {
          report(column);
        }
      }
      sum = sum_of(sum, ${GROUP}u, local);
      if (local == 0u) { parts[piece] = sum; }
#end
    }
    workgroupBarrier();
  }
}
