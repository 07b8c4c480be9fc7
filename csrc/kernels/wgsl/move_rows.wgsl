// Rows of elements of 16 bits by their bits, two elements of the output a work-item, which write
// whole words: gather.wgsl and scatter.wgsl for bfloat16.
// 0 source, 1 rows, 2 output.
// Variables: GROUP, SCATTER (0: output[i] = source[rows[i]], or params.other where that is no row;
// 1: output[i] = source[rows[i] - 1], or as it is where rows[i] is 0), WINDOW (1: params.rows rows of
// the source from params.first on are bound, and what is of others stays).
//! SCATTER: 0 1
//! WINDOW: constant
//! GROUP: 256
#include "range.wgsl"

struct Params { n: u32, row_size: u32, source_rows: u32, other: u32, first: u32, rows: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn element(i: u32, kept: u32) -> u32 {
#if SCATTER
  // No row wraps around to a large one, as a negative index is one.
  let row = rows[i / params.row_size] - 1u;
  let otherwise = kept;
#else
  let row = rows[i / params.row_size];
  let otherwise = params.other;
#end
  if (row >= params.source_rows) { return otherwise; }
  var near = row;
#if WINDOW
  near -= params.first;
  if (near >= params.rows) { return kept; }
#end
  let at = near * params.row_size + i % params.row_size;
  return (source[at / 2u] >> (at % 2u * 16u)) & 0xffffu;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let word = item_index(group, groups, local);
  let first = word * 2u;
  if (first >= params.n) { return; }
  // What lies behind the last element is another's.
  let before = output[word];
  let low = element(first, before & 0xffffu);
  var high = before >> 16u;
  if (first + 1u < params.n) { high = element(first + 1u, high); }
  output[word] = low | (high << 16u);
}
