// Brings a panel of at most BLOCK columns of each matrix, from its diagonal down, to `panels`, where
// it lies by columns, or back. A workgroup for BLOCK rows.
// 0 x, 1 panels.
// Variables: GROUP, T, COMPLEX, BACK.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
//! BACK: 0 1
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> panels: array<${NUMBER}>;
#let LD = BLOCK + 1
#let SIDE_BY_SIDE = GROUP / BLOCK
var<workgroup> tile: array<${NUMBER}, ${BLOCK * LD}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let height = n - params.at;
  let top = group.x * ${BLOCK}u;
  let by_rows = (matrix * n + params.at + top) * n + params.at;
  let by_columns = matrix * n * ${BLOCK}u + top;
  let lane = local % ${BLOCK}u;
  let other = local / ${BLOCK}u;
#if BACK
  if (top + lane < height) {
    for (var c = other; c < params.size; c += ${SIDE_BY_SIDE}u) {
      tile[lane * ${LD}u + c] = panels[by_columns + c * height + lane];
    }
  }
#else
  if (lane < params.size) {
    for (var row = other; row < min(${BLOCK}u, height - top); row += ${SIDE_BY_SIDE}u) {
      tile[row * ${LD}u + lane] = x[by_rows + row * n + lane];
    }
  }
#end
  workgroupBarrier();
#if BACK
  if (lane < params.size) {
    for (var row = other; row < min(${BLOCK}u, height - top); row += ${SIDE_BY_SIDE}u) {
      x[by_rows + row * n + lane] = tile[row * ${LD}u + lane];
    }
  }
#else
  if (top + lane < height) {
    for (var c = other; c < params.size; c += ${SIDE_BY_SIDE}u) {
      panels[by_columns + c * height + lane] = tile[lane * ${LD}u + c];
    }
  }
#end
}
