// Applies the rotations of a round to the rows and columns of symmetric or Hermitian matrices, the four elements
// where two pairs meet a work-item, and to the columns of their eigenvectors.
// 0 angles, 1 a; VECTORS: 2 v.
// Variables: GROUP, VECTORS, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! VECTORS: 0 1
//! GROUP: 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_turn.wgsl"

struct Params { n: u32, players: u32, round: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> angles: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> a: array<${NUMBER}>;
#if VECTORS
@group(0) @binding(2) var<storage, read_write> v: array<${NUMBER}>;
#end

#let WIDE = 0
#if T == "f64" && COMPLEX
#let WIDE = 1
#end
#if WIDE
fn turn_in_place(one: u32, other: u32, sine: ${NUMBER}, share: ${NUMBER}) {
  let both = turned(a[one], a[other], sine, share);
  a[one] = both.x;
  a[other] = both.y;
}
#end

/// Of rows p and q and columns r and s, of which only p and r need be there.
fn turn_block(base: u32, i: u32, j: u32, of_i: u32, of_j: u32) {
  let n = params.n;
  let rows = pair_of(i, params.round, params.players);
  let columns = pair_of(j, params.round, params.players);
  let two_rows = rows.y < n;
  let two_columns = columns.y < n;
  let pr = base + rows.x * n + columns.x;
  let ps = base + rows.x * n + columns.y;
  let qr = base + rows.y * n + columns.x;
  let qs = base + rows.y * n + columns.y;
#if WIDE
  // Two at a time: registers do not hold four and their rotations.
  if (two_rows) {
    let of_rows = conjugate(angles[of_i]);
    let share = conjugate(angles[of_i + 1u]);
    turn_in_place(pr, qr, of_rows, share);
    if (two_columns) { turn_in_place(ps, qs, of_rows, share); }
  }
  if (two_columns) {
    let of_columns = angles[of_j];
    let share = angles[of_j + 1u];
    turn_in_place(pr, ps, of_columns, share);
    if (two_rows) { turn_in_place(qr, qs, of_columns, share); }
    if (i == j) {
      a[pr] = of_real(real_of(a[pr]));
      a[qs] = of_real(real_of(a[qs]));
      if (!is_zero(of_columns)) {
        a[ps] = ${NUMBER}();
        a[qr] = ${NUMBER}();
      }
    }
  }
#else
  var w = a[pr];
  var x = ${NUMBER}();
  var y = ${NUMBER}();
  var z = ${NUMBER}();
  if (two_columns) { x = a[ps]; }
  if (two_rows) { y = a[qr]; }
  if (two_rows && two_columns) { z = a[qs]; }
  let of_rows = conjugate(angles[of_i]);
  let share = conjugate(angles[of_i + 1u]);
  let left = turned(w, y, of_rows, share);
  let right = turned(x, z, of_rows, share);
  let upper = turned(left.x, right.x, angles[of_j], angles[of_j + 1u]);
  let lower = turned(left.y, right.y, angles[of_j], angles[of_j + 1u]);
  w = upper.x;
  x = upper.y;
  y = lower.x;
  z = lower.y;
  if (i == j) {
    w = of_real(real_of(w));
    z = of_real(real_of(z));
    if (!is_zero(of_rows)) {
      x = ${NUMBER}();
      y = ${NUMBER}();
    }
  }
  a[pr] = w;
  if (two_columns) { a[ps] = x; }
  if (two_rows) { a[qr] = y; }
  if (two_rows && two_columns) { a[qs] = z; }
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let pairs = params.players / 2u;
  let base = matrix * n * n;
  let item = group.x * ${GROUP}u + local;
  let j = item % pairs;
  let of_j = 2u * (matrix * pairs + j);
  let i = item / pairs;
  if (i < pairs) {
    turn_block(base, i, j, 2u * (matrix * pairs + i), of_j);
    return;
  }
#if VECTORS
  let row = i - pairs;
  let columns = pair_of(j, params.round, params.players);
  if (row < n && columns.y < n) {
    let one = base + row * n + columns.x;
    let other = base + row * n + columns.y;
    let both = turned(v[one], v[other], angles[of_j], angles[of_j + 1u]);
    v[one] = both.x;
    v[other] = both.y;
  }
#end
}
