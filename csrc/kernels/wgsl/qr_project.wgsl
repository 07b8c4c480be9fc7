// What a panel's reflections take off columns of matrices: F V^H of them, or F^H V^H. A workgroup
// for BLOCK columns; STAGE 1 gives of a piece of the rows the part of V^H of the columns, and STAGE
// 2 joins the parts.
// STAGE 0: 0 reflectors, 1 x, 2 factors, 3 products. 1: 0 reflectors, 1 x, 2 parts. 2: 0 parts,
// 1 factors, 2 products.
// Variables: GROUP, T, COMPLEX, STAGE.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
//! STAGE: 0 1 2
#include "numbers.wgsl"

struct Params {
  m: u32, columns: u32, at: u32, size: u32, count: u32,
  from_column: u32, first: u32,
  adjoint: u32,  // whether it is F^H
  rows: u32,     // of a piece
  pieces: u32,
}
var<immediate> params: Params;
#if STAGE < 2
@group(0) @binding(0) var<storage, read> reflectors: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> x: array<${NUMBER}>;
#end
#if STAGE == 0
@group(0) @binding(2) var<storage, read> factors: array<${NUMBER}>;
@group(0) @binding(3) var<storage, read_write> products: array<${NUMBER}>;
#end
#if STAGE == 1
@group(0) @binding(2) var<storage, read_write> parts: array<${NUMBER}>;
#end
#if STAGE == 2
@group(0) @binding(0) var<storage, read> parts: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> factors: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> products: array<${NUMBER}>;
#end
#let EACH = BLOCK / 16
var<workgroup> left: array<${NUMBER}, ${BLOCK * BLOCK}>;
var<workgroup> right: array<${NUMBER}, ${BLOCK * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let tx = local % 16u;
  let ty = local / 16u;
  let left_column = params.from_column + group.x * ${BLOCK}u;
#for i in 0..EACH
#for j in 0..EACH
  var sum${i}_${j} = ${NUMBER}();
#end
#end
#if STAGE < 2
  let begin = params.at + group.z * params.rows;
  let end = min(begin + params.rows, params.m);
  for (var top = begin; top < end; top += ${BLOCK}u) {
#for step in 0..BLOCK * BLOCK / GROUP
    {
      let e = local + ${step * GROUP}u;
      let row = top + e / ${BLOCK}u;
      let i = e % ${BLOCK}u;
      var v = ${NUMBER}();
      var value = ${NUMBER}();
      if (row < end) {
        let line = matrix * params.m + row;
        if (i < params.size) { v = conjugate(reflectors[line * params.count + params.at + i]); }
        if (left_column + i < params.columns) { value = x[line * params.columns + left_column + i]; }
      }
      left[e] = v;
      right[e] = value;
    }
#end
    workgroupBarrier();
    // Without a loop of its own: software devices end loops of many turns.
#for k in 0..BLOCK
    {
#for i in 0..EACH
      let l${i} = left[${k * BLOCK + 16 * i}u + ty];
      let r${i} = right[${k * BLOCK + 16 * i}u + tx];
#end
#for i in 0..EACH
#for j in 0..EACH
      sum${i}_${j} = plus_product(sum${i}_${j}, l${i}, r${j});
#end
#end
    }
#end
    workgroupBarrier();
  }
#end
  let part = (group.y * groups.x + group.x) * ${BLOCK * BLOCK}u;
  let of_a_piece = groups.x * groups.y * ${BLOCK * BLOCK}u;
#if STAGE == 1
#for i in 0..EACH
#for j in 0..EACH
  parts[group.z * of_a_piece + part + (ty + ${16 * i}u) * ${BLOCK}u + tx + ${16 * j}u] =
      sum${i}_${j};
#end
#end
#else
#if STAGE == 2
  for (var piece = 0u; piece < params.pieces; piece++) {
    let first = piece * of_a_piece + part + ty * ${BLOCK}u + tx;
#for i in 0..EACH
#for j in 0..EACH
    sum${i}_${j} += parts[first + ${16 * i * BLOCK + 16 * j}u];
#end
#end
  }
#end
#for i in 0..EACH
#for j in 0..EACH
  right[(ty + ${16 * i}u) * ${BLOCK}u + tx + ${16 * j}u] = sum${i}_${j};
  sum${i}_${j} = ${NUMBER}();
#end
#end
  for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
    let k = e / ${BLOCK}u;
    let i = e % ${BLOCK}u;
    var factor = ${NUMBER}();
    if (i < params.size && k < params.size) {
      let of_factors = (matrix * params.count + params.at) * ${BLOCK}u;
      factor = factors[of_factors + select(i * ${BLOCK}u + k, e, params.adjoint == 1u)];
      if (params.adjoint == 1u) { factor = conjugate(factor); }
    }
    left[e] = factor;
  }
  workgroupBarrier();
  for (var k = 0u; k < ${BLOCK}u; k++) {
#for i in 0..EACH
    let l${i} = left[k * ${BLOCK}u + ty + ${16 * i}u];
    let r${i} = right[k * ${BLOCK}u + tx + ${16 * i}u];
#end
#for i in 0..EACH
#for j in 0..EACH
    sum${i}_${j} = plus_product(sum${i}_${j}, l${i}, r${j});
#end
#end
  }
#for i in 0..EACH
#for j in 0..EACH
  {
    let row = matrix * ${BLOCK}u + ty + ${16 * i}u;
    let column = left_column + tx + ${16 * j}u;
    if (column < params.columns) { products[row * params.columns + column] = sum${i}_${j}; }
  }
#end
#end
#end
}
