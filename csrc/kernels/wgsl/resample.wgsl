// Each output is a sum over some neighbouring rows and columns of the input by the weights of two
// tables: LINES outputs one below the other a work-item, of 16 bits of words of them, for which it
// looks up the columns once.
// 0 input, 1 output, 2 row spans, 3 row weights, 4 column spans, 5 column weights.
// Variables: GROUP, T, ROWS, COLUMNS (0: the axis stays as it is, whatever its tables are bound to),
// LINES (0: of 16 bits with rows that are no whole words, of which a work-item has one word).
//! T: f32 f64 f16 bf16
//! ROWS: constant
//! COLUMNS: constant
//! LINES: 0 4
//! GROUP: 256
//! only: LINES > 0 or T in ("f16", "bf16")
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

/// What an output has of the input's columns, as inside() says it.
fn columns_of(column: u32) -> vec3<u32> {
#if COLUMNS
  return inside(column_spans[2u * column], column_spans[2u * column + 1u], params.column_taps,
                params.width);
#else
  return vec3<u32>(column, 1u, 0u);
#end
}

/// Of one output; what is copied is at `copied` of the input, else that is no place.
fn resampled(plane: u32, row: u32, column: u32, w: vec3<u32>) -> Sum {
  var h = vec3<u32>(row, 1u, 0u);
#if ROWS
  h = inside(row_spans[2u * row], row_spans[2u * row + 1u], params.row_taps, params.height);
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

#if PACK == 2
fn word_of_both(low: Sum, high: Sum) -> u32 {
  var word = word_of(low.value, high.value);
  if (low.copied != 0xffffffffu) {
    word = (word & 0xffff0000u) | half_of(input[low.copied / 2u], low.copied);
  }
  if (high.copied != 0xffffffffu) {
    word = (word & 0xffffu) | (half_of(input[high.copied / 2u], high.copied) << 16u);
  }
  return word;
}
#end
#if LINES == 0
fn resampled_at(o: u32) -> Sum {
  let line = o / params.columns;
  let plane = line / params.rows;
  let column = o - line * params.columns;
  return resampled(plane, line - plane * params.rows, column, columns_of(column));
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if LINES == 0
  let o = item * 2u;
  if (o >= params.n) { return; }
  let low = resampled_at(o);
  // What lies behind the last element is another's.
  let alone = o + 1u == params.n;
  var high = low;
  if (!alone) { high = resampled_at(o + 1u); }
  var word = word_of_both(low, high);
  if (alone) { word = (word & 0xffffu) | (output[item] & 0xffff0000u); }
  output[item] = word;
#else
  if (item >= params.n) { return; }
  let items = params.columns / ${PACK}u;
  let line = item / items;
  let column = (item - line * items) * ${PACK}u;
  let blocks = (params.rows + ${LINES - 1}u) / ${LINES}u;
  let plane = line / blocks;
  let first_row = (line - plane * blocks) * ${LINES}u;
  let first = (plane * params.rows + first_row) * items + column / ${PACK}u;
#for p in 0..PACK
  let w${p} = columns_of(column + ${p}u);
#end
#for y in 0..LINES
  if (first_row + ${y}u < params.rows) {
    let row = first_row + ${y}u;
#if PACK == 2
    output[first + ${y}u * items] = word_of_both(
        resampled(plane, row, column, w0), resampled(plane, row, column + 1u, w1));
#else
    output[first + ${y}u * items] = resampled(plane, row, column, w0).value;
#end
  }
#end
#end
}
