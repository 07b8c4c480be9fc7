// Unit vectors in place of those whose singular value is no more than rounding of the largest,
// which need not be orthogonal, and of those beyond the values, each orthogonal to all that are
// there: what is left of the axis that is farthest from them. A workgroup for each matrix; a launch
// makes a part of them, since software devices end loops of many turns.
// 0 values, 1 vectors, 2 shares.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"
#include "scaling.wgsl"
#include "svd_bounds.wgsl"
// Of 2^64 or 2^512.
#let LIFT = "0x5f800000u"
#if T == "f64"
#let LIFT = "0x5ff0000000000000lu"
#end

struct Params {
  count: u32, all: u32, length: u32, step: u32, stride: u32, apart: u32, batch: u32,
  begin: u32, end: u32,  // which vectors are looked at
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> values: array<${T}>;
@group(0) @binding(1) var<storage, read_write> vectors: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> shares: array<${NUMBER}>;
var<workgroup> largest: array<${T}, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;

fn has_value(matrix: u32, i: u32) -> bool {
  if (i >= params.count) { return false; }
  let own = values[matrix * params.count + i];
  let first = values[matrix * params.count];
  // So that neither is subnormal, nor what is no more than rounding.
  let lift = select(${T}(1), bitcast<${T}>(${LIFT}), bits_of(first) < ${ONE});
  return scaled_part(own, lift) > ${ROUNDING} * scaled_part(first, lift);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let base = matrix * params.apart;
  let step = params.step;
  let stride = params.stride;
  for (var j = params.begin; j < params.end; j++) {
    let is_missing = !has_value(matrix, j);
    var most = ${T}(-1);
    var place = 0u;
    if (is_missing) {
      for (var e = local; e < params.length; e += ${GROUP}u) {
        var rest = ${T}(1);
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            rest -= plus_square(${T}(0), vectors[base + i * step + e * stride]);
          }
        }
        if (rest > most) {
          most = rest;
          place = e;
        }
      }
    }
    largest[local] = most;
    places[local] = place;
    workgroupBarrier();
    if (is_missing) {
      for (var i = 0u; i < ${GROUP}u; i++) {
        if (largest[i] > most) {
          most = largest[i];
          place = places[i];
        } else if (largest[i] == most && places[i] < place) {
          place = places[i];
        }
      }
      for (var e = local; e < params.length; e += ${GROUP}u) {
        var left = of_real(select(${T}(0), ${T}(1), e == place));
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            let there = base + i * step;
            left = plus_product(left, -conjugate(vectors[there + place * stride]),
                                vectors[there + e * stride]);
          }
        }
        vectors[base + j * step + e * stride] = left;
      }
    }
    storageBarrier();
    // Once more, for what rounding left.
    if (is_missing) {
      for (var i = local; i < params.all; i += ${GROUP}u) {
        if (i < j || has_value(matrix, i)) {
          var share = ${NUMBER}();
          for (var e = 0u; e < params.length; e++) {
            share = plus_product(share, conjugate(vectors[base + i * step + e * stride]),
                                 vectors[base + j * step + e * stride]);
          }
          shares[matrix * params.all + i] = share;
        }
      }
    }
    storageBarrier();
    var sum = ${T}(0);
    if (is_missing) {
      for (var e = local; e < params.length; e += ${GROUP}u) {
        var left = vectors[base + j * step + e * stride];
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            left = plus_product(left, -shares[matrix * params.all + i],
                                vectors[base + i * step + e * stride]);
          }
        }
        vectors[base + j * step + e * stride] = left;
        sum = plus_square(sum, left);
      }
    }
    largest[local] = sum;
    workgroupBarrier();
    if (is_missing) {
      sum = ${T}(0);
      for (var i = 0u; i < ${GROUP}u; i++) { sum += largest[i]; }
      let length = sqrt(sum);
      for (var e = local; e < params.length; e += ${GROUP}u) {
        vectors[base + j * step + e * stride] /= length;
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
}
