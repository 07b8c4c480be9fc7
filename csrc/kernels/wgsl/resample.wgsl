// Each output is a sum over some neighbouring rows and columns of the input by the weights of two
// tables: one output a work-item, of 16 bits a word of them.
// 0 input, 1 output, 2 row spans, 3 row weights, 4 column spans, 5 column weights.
// Variables: GROUP, T, ROWS, COLUMNS (0: the axis stays as it is, whatever its tables are bound to).
//! T: f32 f64 f16 bf16
//! ROWS: constant
//! COLUMNS: constant
//! GROUP: 256
#include "stored_floats.wgsl"
#include "range.wgsl"

struct Params {
  n: u32, height: u32, rows: u32, row_taps: u32, width: u32, columns: u32, column_taps: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${STORED}>;
@group(0) @binding(1) var<storage, read_write> output: array<${STORED}>;
@group(0) @binding(2) var<storage, read> row_spans: array<u32>;
@group(0) @binding(3) var<storage, read> row_weights: array<${F}>;
@group(0) @binding(4) var<storage, read> column_spans: array<u32>;
@group(0) @binding(5) var<storage, read> column_weights: array<${F}>;

/// The first element that a span has in the input, how many, and which tap is the first one's.
fn inside(first: u32, count: u32, taps: u32, length: u32) -> vec3<u32> {
  let before = first > 0x7fffffffu;
  let skipped = select(0u, 0u - first, before);
  let room = select(max(length, first) - first, length + skipped, before);
  let past = min(min(select(count, 0u, count > 0x7fffffffu), taps), room);
  return vec3<u32>(first + skipped, max(past, skipped) - skipped, skipped);
}

fn number_at(at: u32) -> ${F} {
#if PACK == 2
  return number_of(half_of(input[at / 2u], at));
#else
  return input[at];
#end
}

struct Sum { value: ${F}, copied: u32 }

/// Of one output; what is copied is at `copied` of the input, else that is no place.
fn resampled(o: u32) -> Sum {
  let column = o % params.columns;
  let row = o / params.columns % params.rows;
  let plane = o / params.columns / params.rows;
  var h = vec3<u32>(row, 1u, 0u);
  var w = vec3<u32>(column, 1u, 0u);
#if ROWS
  h = inside(row_spans[2u * row], row_spans[2u * row + 1u], params.row_taps, params.height);
#end
#if COLUMNS
  w = inside(column_spans[2u * column], column_spans[2u * column + 1u], params.column_taps,
             params.width);
#end
  let row_weight = row * params.row_taps + h.z;
  let column_weight = column * params.column_taps + w.z;
  let first = (plane * params.height + h.x) * params.width + w.x;
  if (h.y == 1u && w.y == 1u) {
    var weight = ${F}(1.0);
#if ROWS
    weight *= row_weights[row_weight];
#end
#if COLUMNS
    weight *= column_weights[column_weight];
#end
    if (weight == ${F}(1.0)) { return Sum(number_at(first), first); }
  }
  var sum = ${F}();
  for (var y = 0u; y < h.y; y++) {
    let at = first + y * params.width;
    var row_sum = ${F}();
#if COLUMNS
    for (var x = 0u; x < w.y; x++) {
      row_sum = fma(column_weights[column_weight + x], number_at(at + x), row_sum);
    }
#else
    row_sum = number_at(at);
#end
#if ROWS
    sum = fma(row_weights[row_weight + y], row_sum, sum);
#else
    sum += row_sum;
#end
  }
  return Sum(sum, 0xffffffffu);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if PACK == 2
  let o = item * 2u;
  if (o >= params.n) { return; }
  let low = resampled(o);
  // What lies behind the last element is another's.
  let alone = o + 1u == params.n;
  var high = low;
  if (!alone) { high = resampled(o + 1u); }
  var word = word_of(low.value, high.value);
  if (low.copied != 0xffffffffu) {
    word = (word & 0xffff0000u) | half_of(input[low.copied / 2u], low.copied);
  }
  if (high.copied != 0xffffffffu) {
    word = (word & 0xffffu) | (half_of(input[high.copied / 2u], high.copied) << 16u);
  }
  if (alone) { word = (word & 0xffffu) | (output[item] & 0xffff0000u); }
  output[item] = word;
#else
  if (item >= params.n) { return; }
  output[item] = resampled(item).value;
#end
}
