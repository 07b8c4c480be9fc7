// y = alpha * A x + beta * y for A in CSR, of each product of a batch. A workgroup takes params.share of the merged list of rows'
// ends and elements (sparse_walk.wgsl), tile by tile, a work-item ITEMS of each. What it has of its
// first row, and of the one that it does not end, goes to `parts`, where sparse_join.wgsl goes on;
// where there is one workgroup, all is written here.
// 0 offsets, 1 columns, 2 values, 3 x, 4 y, 5 parts (of each workgroup the first row's sum, then of
// each the last one's), 6 starts (the first row of each, and past the last one), 7 faults.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f16 f64
//! COMPLEX: 0 1
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
#let BLOCK = 0
#include "sparse_write.wgsl"
#include "sparse_walk.wgsl"
#include "sparse_products.wgsl"
#let LANES = 1
#include "sparse_scan.wgsl"
// As many as the memory of a workgroup holds. Odd numbers keep work-items on different banks.
#let ITEMS = 5
#if T == "f64" || COMPLEX
#let ITEMS = 3
#end
#if T == "f64" && COMPLEX
#let ITEMS = 1
#end
#let TILE = ITEMS * GROUP
var<workgroup> ends: array<u32, ${TILE}>;
var<workgroup> products: array<${SUM}, ${TILE}>;
var<workgroup> first_row: array<u32, 1>;

/// How many of the `known` rows in `ends` end within the first so many items of the tile.
fn rows_of_tile(items: u32, at: u32, known: u32) -> u32 {
  var first = 0u;
  var left = min(items, known);
  while (left > 0u) {
    let half = left / 2u;
    let row = first + half;
    if (ends[row] + row + 1u <= items + at) {
      first = row + 1u;
      left -= half + 1u;
    } else {
      left = half;
    }
  }
  return first;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let product = index / params.groups;
  if (product >= params.batch) { return; }
  choose(product);
  let own = index % params.groups;
  let parts_at = 2u * product * params.groups;
  let starts_at = product * (params.groups + 1u);
  let begin = own * params.share;
  let past = min(begin + params.share, params.total);
  if (local == 0u) { first_row[0] = rows_before(begin); }
  workgroupBarrier();
  let start = first_row[0];
  var row = start;
  var at = begin - start;
  var carried = ${SUM}();
  var has_ended = params.groups == 1u;
  for (var d = begin; d < past; d += ${TILE}u) {
    let items = min(${TILE}u, past - d);
    let rows = params.rows - row;
    // Of rows that are behind one that ends behind the tile none is asked for.
    let most = min(rows, items);
    var known = min(${GROUP}u, most);
    if (local < known) { ends[local] = row_end(row + local); }
#for i in 1..ITEMS
    if (known == ${i * GROUP}u && known < most) {
      if (row_end(row + known - 1u) + known <= items + at) {
        let next = known + local;
        if (next < most) { ends[next] = row_end(row + next); }
        known = min(known + ${GROUP}u, most);
      }
    }
#end
    workgroupBarrier();
    let rows_now = rows_of_tile(items, at, known);
    let elements = items - rows_now;
#for i in 0..ITEMS
    {
      let next = local + ${i * GROUP}u;
      if (next < elements) {
        var product = ${SUM}();
        let z = at + next;
        if (z < params.nnz) {
          let column = columns[columns_at + z];
          if (column < params.cols) {
            product = plus_product(product, ${SUM}(values[values_at + z]), ${SUM}(x[x_at + column * params.ldx]));
          } else {
            report(column);
          }
        }
        products[next] = product;
      }
    }
#end
    workgroupBarrier();
    let low = min(local * ${ITEMS}u, items);
    let high = min(low + ${ITEMS}u, items);
    var r = rows_of_tile(low, at, known);
    var z = low - r;
    var sum = ${SUM}();
    var head = ${SUM}();
    var head_row = 0u;
    var some = false;
    for (var k = low; k < high; k++) {
      var is_end = false;
      if (r < known) { is_end = ends[r] <= at + z; }
      if (is_end) {
        if (some) {
          write_sum(row + r, 0u, sum);
        } else {
          head = sum;
          head_row = row + r;
          some = true;
        }
        sum = ${SUM}();
        r += 1u;
      } else {
        sum += products[z];
        z += 1u;
      }
    }
    scan(local, sum, some);
    if (some) {
      var whole = sum_before(local) + head;
      let is_first = !ended_before(local);
      if (is_first) { whole = carried + whole; }
      if (is_first && !has_ended) {
        parts[parts_at + own] = whole;
      } else {
        write_sum(head_row, 0u, whole);
      }
    }
    let last = sums[${GROUP - 1}];
    if (ended[${GROUP - 1}] == 1u) {
      carried = last;
      has_ended = true;
    } else {
      carried += last;
    }
    row += rows_now;
    at += elements;
    workgroupBarrier();
  }
  if (local == 0u) {
    starts[starts_at + own] = start;
    parts[parts_at + params.groups + own] = carried;
    if (own + 1u == params.groups) { starts[starts_at + params.groups] = row; }
  }
}
