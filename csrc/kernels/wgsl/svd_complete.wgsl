// Unit vectors in place of those whose singular value is no more than rounding of the largest, which
// need not be orthogonal, and of those beyond the values, each orthogonal to all that are there: what
// is left of the axis that is farthest from them. A workgroup for each matrix.
// 0 values, 1 vectors, 2 shares.
// Variables: GROUP.
//! GROUP: 256

struct Params {
  count: u32, all: u32, length: u32, step: u32, stride: u32, apart: u32, batch: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> values: array<f32>;
@group(0) @binding(1) var<storage, read_write> vectors: array<f32>;
@group(0) @binding(2) var<storage, read_write> shares: array<f32>;
var<workgroup> largest: array<f32, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;

fn has_value(matrix: u32, i: u32) -> bool {
  if (i >= params.count) { return false; }
  let first = matrix * params.count;
  return values[first + i] > 3.2e-7 * values[first];
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let base = matrix * params.apart;
  let step = params.step;
  let stride = params.stride;
  for (var j = 0u; j < params.all; j++) {
    let is_missing = !has_value(matrix, j);
    var most = -1.0;
    var place = 0u;
    if (is_missing) {
      for (var e = local; e < params.length; e += ${GROUP}u) {
        var rest = 1.0;
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            let element = vectors[base + i * step + e * stride];
            rest = fma(-element, element, rest);
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
        var left = select(0.0, 1.0, e == place);
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            let there = base + i * step;
            left = fma(-vectors[there + place * stride], vectors[there + e * stride], left);
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
          var share = 0.0;
          for (var e = 0u; e < params.length; e++) {
            share = fma(vectors[base + i * step + e * stride],
                        vectors[base + j * step + e * stride], share);
          }
          shares[matrix * params.all + i] = share;
        }
      }
    }
    storageBarrier();
    var sum = 0.0;
    if (is_missing) {
      for (var e = local; e < params.length; e += ${GROUP}u) {
        var left = vectors[base + j * step + e * stride];
        for (var i = 0u; i < params.all; i++) {
          if (i < j || has_value(matrix, i)) {
            left = fma(-shares[matrix * params.all + i], vectors[base + i * step + e * stride],
                       left);
          }
        }
        vectors[base + j * step + e * stride] = left;
        sum = fma(left, left, sum);
      }
    }
    largest[local] = sum;
    workgroupBarrier();
    if (is_missing) {
      sum = 0.0;
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
