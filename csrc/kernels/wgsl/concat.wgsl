// Rows of the output are those of PARTS parts one after the other. Items are words, or where BYTES is
// less than 4 elements of so many bytes, of which a work-item writes a word: there the parts are whole
// rows, and what lies in a word beside them stays.
// 0 to PARTS - 1 the parts, of which the last ones may be none of any row, PARTS output.
// Variables: GROUP, PARTS, BYTES.
//! PARTS: 2 4 7 15
//! BYTES: constant
//! GROUP: 256
#include "range.wgsl"

// Of each part: where it ends in a row, where it would start if the row did, and its own rows.
struct Params {
  n: u32, row: u32, output_row: u32, output_start: u32,
#for k in 0..PARTS
  past${k}: u32, start${k}: u32, own${k}: u32,
#end
}
var<immediate> params: Params;
#for k in 0..PARTS
@group(0) @binding(${k}) var<storage, read> part${k}: array<u32>;
#end
@group(0) @binding(${PARTS}) var<storage, read_write> output: array<u32>;

fn item_of(i: u32) -> u32 {
  let row = i / params.row;
  let at = i - row * params.row;
#for k in 0..PARTS
  if (at < params.past${k}) {
    let from${k} = params.start${k} + row * params.own${k} + at;
#if BYTES == 4
    return part${k}[from${k}];
#else
    return part${k}[from${k} / ${4 / BYTES}u] >> (from${k} % ${4 / BYTES}u * ${8 * BYTES}u);
#end
  }
#end
  return 0u;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
#if BYTES == 4
  if (i >= params.n) { return; }
  let row = i / params.row;
  output[params.output_start + row * (params.output_row - params.row) + i] = item_of(i);
#else
  let word = params.output_start / ${4 / BYTES}u + i;
  let ones = (1u << ${8 * BYTES}u) - 1u;
  var value = 0u;
  var mask = 0u;
  for (var e = 0u; e < ${4 / BYTES}u; e += 1u) {
    // What lies before the first is a large number here.
    let place = word * ${4 / BYTES}u + e - params.output_start;
    if (place < params.n) {
      value |= (item_of(place) & ones) << (e * ${8 * BYTES}u);
      mask |= ones << (e * ${8 * BYTES}u);
    }
  }
  if (mask == 0xffffffffu) {
    output[word] = value;
  } else if (mask != 0u) {
    output[word] = (output[word] & ~mask) | value;
  }
#end
}
