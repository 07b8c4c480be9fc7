// By which power of two the elements of each matrix are multiplied, so that their squares neither
// overflow nor vanish, and by which what comes of them; 0 where an element is not finite, of which
// the status says -1. Third, the mean of the squares of its singular values so multiplied. A
// workgroup for each matrix.
// 0 source, 1 scales, 2 status.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"
// The bits of exponents: of 1, of twice the largest power whose reciprocal is no less than LEAST, and
// of that one.
#let ONE = "0x3f800000u"
#let DOUBLE = "0x7f000000u"
#let MOST = "0x7e800000u"
#if T == "f64"
#let ONE = "0x3ff0000000000000lu"
#let DOUBLE = "0x7fe0000000000000lu"
#let MOST = "0x7fd0000000000000lu"
#end

struct Params { elements: u32, count: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> source: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> status: array<i32>;
var<workgroup> partial: array<${T}, ${GROUP}>;
var<workgroup> largest: array<${BITS}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  // Magnitudes are in the order of their bits, NaN behind infinity.
  var most = ${BITS}(0);
  for (var e = local; e < params.elements; e += ${GROUP}u) {
    most = larger(most, largest_bits(source[matrix * params.elements + e]));
  }
  largest[local] = most;
  workgroupBarrier();
  for (var i = 0u; i < ${GROUP}u; i++) { most = larger(most, largest[i]); }
  let is_finite = most < ${INFINITE};
  var exponent = most & ${INFINITE};
  if (exponent > ${MOST}) { exponent = ${MOST}; }
  if (exponent == ${BITS}(0)) { exponent = ${ONE}; }
  let scale = select(${T}(0), bitcast<${T}>(${DOUBLE} - exponent), is_finite);
  var sum = ${T}(0);
  for (var e = local; e < params.elements; e += ${GROUP}u) {
    sum = plus_square(sum, source[matrix * params.elements + e] * scale);
  }
  partial[local] = sum;
  workgroupBarrier();
  if (local != 0u) { return; }
  sum = ${T}(0);
  for (var i = 0u; i < ${GROUP}u; i++) { sum += partial[i]; }
  scales[3u * matrix] = scale;
  scales[3u * matrix + 2u] = sum / ${T}(params.count);
  scales[3u * matrix + 1u] = bitcast<${T}>(exponent);
  status[matrix] = select(-1, 0, is_finite);
}
