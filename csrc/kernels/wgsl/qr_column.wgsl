// A step of the reflections that qr_panel makes, by all workgroups. It makes and applies the
// reflection of column `step` - 1 from what the step before has left in `sums`, and leaves there
// what the next one needs: the row of column `step`'s diagonal, and of each chunk of rows below it
// the products of that column with itself and the others. Steps take turns with two halves of
// `sums`. A workgroup for each chunk, and a last one for the row of the diagonal and the column of
// the factor.
// 0 x, 1 reflectors, 2 factors, 3 sums.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  m: u32, n: u32, at: u32, size: u32, count: u32,
  first: u32,  // of the matrices
  step: u32,
  rows: u32,   // of a chunk
  given: u32,  // chunks of the step before
  lines: u32,  // of a half of sums: a row, and as many chunks as there may be
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> reflectors: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> factors: array<${NUMBER}>;
@group(0) @binding(3) var<storage, read_write> sums: array<${NUMBER}>;
#let WALKERS = GROUP / BLOCK
// Rows of a work-item that are in its registers at a time.
#let EACH = 64 / WALKERS
// Chunks that are read at a time.
#let AT_ONCE = 4
#let ONE = "0x3f800000u"
#let MOST = "0x7b800000u"
#let EXPONENTS = "0x7c000000u"
#if T == "f64"
#let ONE = "0x3ff0000000000000lu"
#let MOST = "0x7f70000000000000lu"
#let EXPONENTS = "0x7f80000000000000lu"
#end
var<workgroup> partial: array<${NUMBER}, ${GROUP}>;
var<workgroup> largest: array<${BITS}, ${WALKERS}>;
var<workgroup> totals: array<${NUMBER}, ${BLOCK}>;

/// Columns are multiplied by a power of two before their squares are summed: by 2^-6 over that of
/// their largest number, so that neither the squares nor products with other columns overflow or
/// vanish. Of the largest number's bits.
fn exponent_of(bits: ${BITS}) -> ${BITS} {
  let exponent = larger(bits & ${INFINITE}, ${LEAST});
  return select(exponent, ${MOST}, exponent > ${MOST});
}
fn power_for(bits: ${BITS}) -> ${T} { return bitcast<${T}>(${EXPONENTS} - exponent_of(bits)); }
/// What numbers multiplied for the one are still to be multiplied by for the other, a larger one.
fn weight(of_bits: ${BITS}, among: ${BITS}) -> ${T} {
  let apart = exponent_of(among) - exponent_of(of_bits);
  if (apart >= ${ONE}) { return ${T}(0); }
  return bitcast<${T}>(${ONE} - apart);
}
/// The same for sums of products with the column; its squares have been multiplied twice.
fn weight_of_sum(is_square: bool, of_bits: ${BITS}, among: ${BITS}) -> ${T} {
  let once = weight(of_bits, among);
  return select(once, once * once, is_square);
}
/// The walkers' sums of the work-item's column.
fn total_of(lane: u32, column: u32, below: ${BITS}) -> ${NUMBER} {
  var total = ${NUMBER}();
  for (var w = 0u; w < ${WALKERS}u; w++) {
    total += partial[w * ${BLOCK}u + lane] * weight_of_sum(lane == column, largest[w], below);
  }
  return total;
}
fn largest_of_all() -> ${BITS} {
  var below = ${BITS}(0);
  for (var w = 0u; w < ${WALKERS}u; w++) { below = larger(below, largest[w]); }
  return below;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let step = params.step;
  let size = params.size;
  let lane = local % ${BLOCK}u;
  let walker = local / ${BLOCK}u;
  let is_inside = lane < size;
  let is_last = group.x + 1u == groups.x;
  // Of the reflection that is made; in the first step there is none.
  let reflects = step > 0u;
  let j = max(step, 1u) - 1u;
  let top = params.at + j;
  let is_behind = is_inside && lane >= step;
  let of_x = matrix * params.m * params.n + params.at;
  let of_reflectors = matrix * params.m * params.count + params.at;
  let of_factors = (matrix * params.count + params.at) * ${BLOCK}u;
  let of_half = params.lines * ${BLOCK + 1}u;
  let source = (2u * matrix + (step + 1u) % 2u) * of_half;
  let into = (2u * matrix + step % 2u) * of_half;
  let of_largest = params.lines * ${BLOCK}u;

  let diagonal = params.at + step;
  var begin = diagonal + group.x * params.rows;
  var end = min(begin + params.rows, params.m);
  if (is_last) { end = begin; }
  // The reflection's vector is 1, and below it the column times `power` times `back`.
  var power = ${T}(0);
  var back = ${NUMBER}();
  // What the vector is multiplied by to be taken off the work-item's column and the next one.
  var by = ${NUMBER}();
  var by_next = ${NUMBER}();
  var most = ${BITS}(0);
  var share = ${NUMBER}();
  for (var tile = begin; tile == begin || tile < end; tile += ${EACH * WALKERS}u) {
#for i in 0..EACH
    var own${i} = ${NUMBER}();
    var column${i} = ${NUMBER}();
    var next${i} = ${NUMBER}();
    let row${i} = tile + walker + ${i * WALKERS}u;
    if (row${i} < end) {
      let line = of_x + row${i} * params.n;
      if (is_behind) {
        own${i} = x[line + lane];
      } else if (is_inside && lane < j) {
        own${i} = reflectors[of_reflectors + row${i} * params.count + lane];
      }
      if (reflects) { column${i} = x[line + j]; }
      if (step < size) { next${i} = x[line + step]; }
    }
#end
    if (tile == begin && reflects) {
      var given_most = ${BITS}(0);
      var given = ${NUMBER}();
      for (var line = 1u + walker; line <= params.given; line += ${AT_ONCE * WALKERS}u) {
#for i in 0..AT_ONCE
        var sum${i} = ${NUMBER}();
        var bits${i} = ${BITS}(0);
        if (line + ${i * WALKERS}u <= params.given) {
          sum${i} = sums[source + (line + ${i * WALKERS}u) * ${BLOCK}u + lane];
          bits${i} = bitcast<${BITS}>(real_of(sums[source + of_largest + line + ${i * WALKERS}u]));
        }
#end
#for i in 0..AT_ONCE
        {
          let both = larger(given_most, bits${i});
          given = given * weight_of_sum(lane == j, given_most, both) +
                  sum${i} * weight_of_sum(lane == j, bits${i}, both);
          given_most = both;
        }
#end
      }
      partial[local] = given;
      if (lane == 0u) { largest[walker] = given_most; }
      let first = sums[source + j];
      let head = sums[source + lane];
      let head_next = sums[source + min(step, ${BLOCK - 1}u)];
      workgroupBarrier();
      var below = largest_of_all();
      if (walker == 0u) { totals[lane] = total_of(lane, j, below); }
      workgroupBarrier();
      let whole = larger(below, largest_bits(first));
      let part = weight(below, whole);
      let square = real_of(totals[j]) * part * part;
#if COMPLEX
      // A number that is not real is turned into one.
      below = larger(below, bits_of(first.y));
#end
      var factor = ${NUMBER}();
      var result = first;
      // What is 0 already is not reflected, nor what a device may take for 0.
      if (below >= ${LEAST}) {
        power = power_for(whole);
        let own = first * power;
        let length = sqrt(plus_square(square, own));
        let turned = select(length, -length, real_of(own) >= ${T}(0));
        back = quotient(of_real(${T}(1)), own - of_real(turned));
        factor = (of_real(turned) - own) / turned;
        result = of_real(turned / power);
      }
      // Columns are reflected back: by the conjugate of what Q is made with.
      let product_of = head + product(totals[lane] * part, conjugate(back));
      by = product(product_of, conjugate(factor));
      let product_next =
          head_next + product(totals[min(step, ${BLOCK - 1}u)] * part, conjugate(back));
      by_next = product(product_next, conjugate(factor));
      if (is_last) {
        if (walker == 0u) {
          let line = of_x + top * params.n;
          if (is_behind) { x[line + lane] = head - by; }
          // Of the vectors before it with this one.
          partial[lane] = conjugate(head) + product(totals[lane] * part, back);
          if (lane == j) {
            x[line + j] = result;
            reflectors[of_reflectors + top * params.count + j] = of_real(${T}(1));
          }
          if (lane < j) {
            reflectors[of_reflectors + (params.at + lane) * params.count + j] = ${NUMBER}();
          }
        }
        workgroupBarrier();
        var joined = ${NUMBER}();
        for (var k = lane + walker; k < j; k += ${WALKERS}u) {
          joined = plus_product(joined, factors[of_factors + lane * ${BLOCK}u + k], partial[k]);
        }
        workgroupBarrier();
        partial[local] = joined;
        workgroupBarrier();
        if (walker == 0u && is_inside) {
          joined = ${NUMBER}();
          for (var w = 0u; w < ${WALKERS}u; w++) { joined += partial[w * ${BLOCK}u + lane]; }
          var entry = ${NUMBER}();
          if (lane < j) { entry = -product(factor, joined); }
          if (lane == j) { entry = factor; }
          factors[of_factors + lane * ${BLOCK}u + j] = entry;
        }
      }
    }
    // All that is read of the tile is, before any of it is written.
    storageBarrier();
    workgroupBarrier();
    var tile_most = ${BITS}(0);
#for i in 0..EACH
    {
      let v = product(column${i} * power, back);
      next${i} -= product(by_next, v);
      if (is_behind) { own${i} -= product(by, v); }
      if (reflects && lane == j) { own${i} = v; }
      if (row${i} < end && reflects) {
        if (is_behind) { x[of_x + row${i} * params.n + lane] = own${i}; }
        if (lane == j) { reflectors[of_reflectors + row${i} * params.count + j] = v; }
      }
      if (row${i} == diagonal && row${i} < end) {
        sums[into + lane] = own${i};
        next${i} = ${NUMBER}();
      }
      tile_most = larger(tile_most, largest_bits(next${i}));
    }
#end
    let both = larger(most, tile_most);
    let power_of_sum = power_for(both);
    share *= weight_of_sum(lane == step, most, both);
    most = both;
#for i in 0..EACH
    {
      let value = next${i} * power_of_sum;
      if (lane > step) {
        share = plus_product(share, conjugate(value), own${i});
      } else if (lane < step) {
        share = plus_product(share, conjugate(own${i}), value);
      } else {
        share = plus_product(share, conjugate(value), value);
      }
    }
#end
  }
  if (step < size && !is_last) {
    partial[local] = share;
    if (lane == 0u) { largest[walker] = most; }
    workgroupBarrier();
    if (walker == 0u) {
      let below = largest_of_all();
      sums[into + (1u + group.x) * ${BLOCK}u + lane] = total_of(lane, step, below);
      if (lane == 0u) { sums[into + of_largest + 1u + group.x] = of_real(bitcast<${T}>(below)); }
    }
  }
}
