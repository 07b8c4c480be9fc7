// Pooling by small windows without gaps, each of which has an element: ROWS outputs one below the
// other a work-item, of 16 bits of words of them. A row that several of them have is read once, and
// what is read of all rows is on its way together. What is outside of an axis is read as its nearest
// element, which the window has as well.
// 0 input, 1 output, 2 places where PLACES.
// Variables: GROUP, T, MAX, PLACES, PADDED, COUNTED (0: sums are over params.divisor), ROWS, WINDOW1,
// WINDOW2, STRIDE1, EDGES (0: no window reaches over the input's edges), DEPTH (0: axis 0 has one
// place). Of 16 bits the rows of the output are whole words.
//! T: f32 f64 f16 bf16
//! MAX: 0 1
//! PLACES: 0 1
//! ROWS: 1
//! PADDED: constant
//! COUNTED: constant
//! WINDOW1: constant
//! WINDOW2: constant
//! STRIDE1: constant
//! EDGES: constant
//! DEPTH: constant
//! ADAPTIVE: as 0
//! DILATED: as 0
//! GROUP: 256
//! only: MAX == 1 or PLACES == 0
#include "stored_floats.wgsl"
#include "range.wgsl"
#include "pool_windows.wgsl"
#include "pool_elements.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.n) { return; }
  let width = params.out2 / ${PACK}u;
  let line = item / width;
  let column = (item - line * width) * ${PACK}u;
  let blocks = (params.out1 + ${ROWS - 1}u) / ${ROWS}u;
  let slab = line / blocks;
  let first_row = (line - slab * blocks) * ${ROWS}u;
  var plane = slab;
  var d = vec3<u32>(0u, 1u, 1u);
#if DEPTH
  plane = slab / params.out0;
  d = window0(slab - plane * params.out0);
#end
  let slice = params.length1 * params.length2;
  let plane_at = plane * params.length0 * slice;
  let top = i32(first_row * ${STRIDE1}u) - i32(params.pad1);
  let last_row = i32(params.length1) - 1;
  let last_column = i32(params.length2) - 1;
#for p in 0..PACK
  let left${p} = i32((column + ${p}u) * params.stride2) - i32(params.pad2);
#for r in 0..ROWS
#if MAX
  var largest${p}_${r} = ${LEAST};
  var key${p}_${r} = ${ITEM}();
#if PLACES
  var place${p}_${r} = 0u;
#end
#else
  var sum${p}_${r} = ${F}();
#end
#end
#end
  for (var z = 0u; z < d.y; z++) {
    let slice_at = plane_at + (d.x + z) * slice;
#for y in 0..((ROWS - 1) * STRIDE1 + WINDOW1)
    {
      let row = top + ${y};
      let row_at = slice_at + u32(clamp(row, 0, last_row)) * params.length2;
#for p in 0..PACK
#if MAX
      var row_largest${p} = ${LEAST};
      var row_key${p} = ${ITEM}();
#if PLACES
      var row_place${p} = 0u;
#end
#else
      var row_sum${p} = ${F}();
#end
#for x in 0..WINDOW2
      {
        let from_left = left${p} + ${x};
#if EDGES
        let at = row_at + u32(clamp(from_left, 0, last_column));
#else
        let at = row_at + u32(from_left);
#end
        let value = element(at);
#if MAX
        let own = key_of(value);
        let is_larger = own > row_key${p};
        row_key${p} = select(row_key${p}, own, is_larger);
        row_largest${p} = select(row_largest${p}, value, is_larger);
#if PLACES
        row_place${p} = select(row_place${p}, at, is_larger);
#end
#else
#if EDGES
        row_sum${p} += select(${F}(), value, from_left >= 0 && from_left <= last_column);
#else
        row_sum${p} += value;
#end
#end
      }
#end
#if MAX == 0
#if EDGES
      row_sum${p} = select(${F}(), row_sum${p}, row >= 0 && row <= last_row);
#end
#end
#for r in 0..ROWS
      if (${y} >= ${r * STRIDE1} && ${y} < ${r * STRIDE1 + WINDOW1}) {
#if MAX
        let is_larger = row_key${p} > key${p}_${r};
        key${p}_${r} = select(key${p}_${r}, row_key${p}, is_larger);
        largest${p}_${r} = select(largest${p}_${r}, row_largest${p}, is_larger);
#if PLACES
        place${p}_${r} = select(place${p}_${r}, row_place${p}, is_larger);
#end
#else
        sum${p}_${r} += row_sum${p};
#end
      }
#end
#end
    }
#end
  }
  let out_at = (slab * params.out1 + first_row) * params.out2 + column;
  let first = plane_at;
#if MAX == 0
#if COUNTED
#for p in 0..PACK
  let of_row${p} = ${F}(d.z) * ${F}(window2(column + ${p}u).z);
#end
#end
#end
#for r in 0..ROWS
  if (first_row + ${r}u < params.out1) {
    let o = out_at + ${r}u * params.out2;
#for p in 0..PACK
#if MAX
    let result${p} = largest${p}_${r};
#if PLACES
    places[o + ${p}u] = place${p}_${r} - first;
#end
#else
#if COUNTED
    let result${p} = sum${p}_${r} / (of_row${p} * ${F}(window1(first_row + ${r}u).z));
#else
    let result${p} = sum${p}_${r} / divisor();
#end
#end
#end
#if PACK == 1
    output[o] = result0;
#elif MAX
    output[o / 2u] = (result0 >> 16u) | (result1 & 0xffff0000u);
#else
    output[o / 2u] = word_of(result0, result1);
#end
  }
#end
}
