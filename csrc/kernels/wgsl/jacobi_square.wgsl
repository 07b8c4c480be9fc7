// Sweeps of Jacobi's method over a symmetric or Hermitian matrix of SIDE rows in workgroup memory,
// whose rotations are collected in `basis`.
// Around this file: jacobi_pairs.wgsl, numbers.wgsl, jacobi_side.wgsl, jacobi_turn.wgsl, GROUP, and
//   wants_turn(first: T, second: T, beside: NUMBER, least: T, bound: T) -> bool
// of a pair's elements on the diagonal, and of that beside it.
#let HALF = SIDE / 2
#let LD = SIDE + 1
var<workgroup> square: array<${NUMBER}, ${SIDE * LD}>;
var<workgroup> basis: array<${NUMBER}, ${SIDE * LD}>;
var<workgroup> sines: array<${NUMBER}, ${HALF}>;
var<workgroup> shares: array<${NUMBER}, ${HALF}>;
var<workgroup> ones: array<u32, ${HALF}>;
var<workgroup> others: array<u32, ${HALF}>;
/// Of each place in a round, whether any rotation was made.
var<workgroup> busy: array<u32, ${HALF}>;

/// Where pairs i and j meet, two elements at a time: registers do not hold four of the widest.
fn turn_meeting(i: u32, j: u32) {
  let p = ones[i];
  let q = others[i];
  let r = ones[j];
  let s = others[j];
  let of_j = sines[j];
  if (!is_zero(of_j)) {
    let share = shares[j];
    let upper = turned(square[p * ${LD}u + r], square[p * ${LD}u + s], of_j, share);
    square[p * ${LD}u + r] = upper.x;
    square[p * ${LD}u + s] = upper.y;
    let lower = turned(square[q * ${LD}u + r], square[q * ${LD}u + s], of_j, share);
    square[q * ${LD}u + r] = lower.x;
    square[q * ${LD}u + s] = lower.y;
  }
  let of_i = conjugate(sines[i]);
  if (!is_zero(of_i)) {
    let share = conjugate(shares[i]);
    let left = turned(square[p * ${LD}u + r], square[q * ${LD}u + r], of_i, share);
    square[p * ${LD}u + r] = left.x;
    square[q * ${LD}u + r] = left.y;
    let right = turned(square[p * ${LD}u + s], square[q * ${LD}u + s], of_i, share);
    square[p * ${LD}u + s] = right.x;
    square[q * ${LD}u + s] = right.y;
  }
  if (i == j) {
    square[p * ${LD + 1}u] = of_real(real_of(square[p * ${LD + 1}u]));
    square[q * ${LD + 1}u] = of_real(real_of(square[q * ${LD + 1}u]));
    if (!is_zero(of_i)) {
      square[p * ${LD}u + q] = ${NUMBER}();
      square[q * ${LD}u + p] = ${NUMBER}();
    }
  } else if (!is_zero(of_i) || !is_zero(of_j)) {
    // The other triangle is the same numbers, not the same computation.
    square[r * ${LD}u + p] = conjugate(square[p * ${LD}u + r]);
    square[s * ${LD}u + p] = conjugate(square[p * ${LD}u + s]);
    square[r * ${LD}u + q] = conjugate(square[q * ${LD}u + r]);
    square[s * ${LD}u + q] = conjugate(square[q * ${LD}u + s]);
  }
}

fn turn_square(local: u32, sweeps: u32, least: ${T}, bound: ${T}) {
  for (var e = local; e < ${SIDE * LD}u; e += ${GROUP}u) {
    basis[e] = of_real(select(${T}(0), ${T}(1), e % ${LD + 1}u == 0u));
  }
  if (local < ${HALF}u) { busy[local] = 0u; }
  for (var round = 0u; round < sweeps * ${SIDE - 1}u; round++) {
    workgroupBarrier();
    if (local < ${HALF}u) {
      let pair = pair_of(local, round % ${SIDE - 1}u, ${SIDE}u);
      let first = real_of(square[pair.x * ${LD + 1}u]);
      let second = real_of(square[pair.y * ${LD + 1}u]);
      let beside = square[pair.x * ${LD}u + pair.y];
      var rotation = Rotation(${NUMBER}(), ${NUMBER}());
      if (wants_turn(first, second, beside, least, bound)) {
        rotation = rotation_of(first, second, beside);
        busy[local] = 1u;
      }
      sines[local] = rotation.sine;
      shares[local] = rotation.share;
      ones[local] = pair.x;
      others[local] = pair.y;
    }
    workgroupBarrier();
    for (var item = local; item < ${HALF * HALF}u; item += ${GROUP}u) {
      let i = item / ${HALF}u;
      let j = item % ${HALF}u;
      if (i <= j) { turn_meeting(i, j); }
    }
    for (var item = local; item < ${SIDE * HALF}u; item += ${GROUP}u) {
      let row = item / ${HALF}u * ${LD}u;
      let k = item % ${HALF}u;
      let sine = sines[k];
      if (!is_zero(sine)) {
        let one = row + ones[k];
        let other = row + others[k];
        let both = turned(basis[one], basis[other], sine, shares[k]);
        basis[one] = both.x;
        basis[other] = both.y;
      }
    }
  }
  workgroupBarrier();
}
/// Whether turn_square() has made a rotation.
fn was_turned() -> bool {
  var some = 0u;
  for (var k = 0u; k < ${HALF}u; k++) { some |= busy[k]; }
  return some != 0u;
}
