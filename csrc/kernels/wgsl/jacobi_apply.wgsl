// Applies the rotations of a round: to the tiles of a where two pairs of blocks meet, and to
// columns of the eigenvectors. A workgroup for each tile of SIDE rows and columns.
// 0 turns, 1 moved, 2 status, 3 a; VECTORS: 4 v.
// Variables: GROUP, VECTORS, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! VECTORS: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_side.wgsl"

struct Params { n: u32, players: u32, round: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> turns: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> moved: array<u32>;
@group(0) @binding(2) var<storage, read> status: array<i32>;
@group(0) @binding(3) var<storage, read_write> a: array<${NUMBER}>;
#if VECTORS
@group(0) @binding(4) var<storage, read_write> v: array<${NUMBER}>;
#end
#let LD = SIDE + 1
#let EACH = SIDE / 16
var<workgroup> tile: array<${NUMBER}, ${SIDE * LD}>;
var<workgroup> turn: array<${NUMBER}, ${SIDE * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.z;
  if (status[matrix] != 1) { return; }
  let n = params.n;
  let base = matrix * n * n;
  let pairs = params.players / 2u;
  let meetings = pairs / 2u;
  // Each two pairs meet once: j is 1 to pairs / 2 places behind i, around a circle.
  let i = group.x;
  let apart = group.y + 1u;
  let j = (i + apart) % pairs;
  let is_vector = group.y >= meetings;
  if (!is_vector && 2u * apart == pairs && i >= meetings) { return; }
  let of_column = select(j, i, is_vector);
  let row_place = matrix * pairs + i;
  let column_place = matrix * pairs + of_column;
  let turns_rows = !is_vector && moved[row_place] != 0u;
  let turns_columns = moved[column_place] != 0u;
  if (!turns_rows && !turns_columns) { return; }
  let rows = pair_of(i, params.round, params.players);
  let columns = pair_of(of_column, params.round, params.players);
  let from_row = (group.y - meetings) * ${SIDE}u;
  let tx = local % 16u;
  let ty = local / 16u;
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let r = e / ${SIDE}u;
    let c = e % ${SIDE}u;
    let row = select(of_block(rows, r), from_row + r, is_vector);
    let column = of_block(columns, c);
    var value = ${NUMBER}();
    if (row < n && column < n) {
#if VECTORS
      if (is_vector) {
        value = v[base + row * n + column];
      } else {
        value = a[base + row * n + column];
      }
#else
      value = a[base + row * n + column];
#end
    }
    tile[r * ${LD}u + c] = value;
    if (turns_rows) { turn[r * ${LD}u + c] = conjugate(turns[row_place * ${SIDE * SIDE}u + e]); }
  }
  workgroupBarrier();
  if (turns_rows) {
#for y in 0..EACH
#for x in 0..EACH
    var sum${y}_${x} = ${NUMBER}();
#end
#end
    for (var k = 0u; k < ${SIDE}u; k++) {
#for y in 0..EACH
      let l${y} = turn[k * ${LD}u + ty + ${16 * y}u];
      let r${y} = tile[k * ${LD}u + tx + ${16 * y}u];
#end
#for y in 0..EACH
#for x in 0..EACH
      sum${y}_${x} = plus_product(sum${y}_${x}, l${y}, r${x});
#end
#end
    }
    workgroupBarrier();
#for y in 0..EACH
#for x in 0..EACH
    tile[(ty + ${16 * y}u) * ${LD}u + tx + ${16 * x}u] = sum${y}_${x};
#end
#end
  }
  if (turns_columns) {
    for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
      turn[e / ${SIDE}u * ${LD}u + e % ${SIDE}u] = turns[column_place * ${SIDE * SIDE}u + e];
    }
    workgroupBarrier();
#for y in 0..EACH
#for x in 0..EACH
    var sum${y}_${x} = ${NUMBER}();
#end
#end
    for (var k = 0u; k < ${SIDE}u; k++) {
#for y in 0..EACH
      let l${y} = tile[(ty + ${16 * y}u) * ${LD}u + k];
      let r${y} = turn[k * ${LD}u + tx + ${16 * y}u];
#end
#for y in 0..EACH
#for x in 0..EACH
      sum${y}_${x} = plus_product(sum${y}_${x}, l${y}, r${x});
#end
#end
    }
    workgroupBarrier();
#for y in 0..EACH
#for x in 0..EACH
    tile[(ty + ${16 * y}u) * ${LD}u + tx + ${16 * x}u] = sum${y}_${x};
#end
#end
  }
  workgroupBarrier();
  for (var e = local; e < ${SIDE * SIDE}u; e += ${GROUP}u) {
    let r = e / ${SIDE}u;
    let c = e % ${SIDE}u;
    let value = tile[r * ${LD}u + c];
    let column = of_block(columns, c);
    if (is_vector) {
#if VECTORS
      let row = from_row + r;
      if (row < n && column < n) { v[base + row * n + column] = value; }
#end
    } else {
      let row = of_block(rows, r);
      if (row < n && column < n) { a[base + row * n + column] = value; }
      // And the mirror image, in which rows are columns.
      let far_row = of_block(columns, r);
      let far_column = of_block(rows, c);
      if (far_row < n && far_column < n) {
        a[base + far_row * n + far_column] = conjugate(tile[c * ${LD}u + r]);
      }
    }
  }
}
