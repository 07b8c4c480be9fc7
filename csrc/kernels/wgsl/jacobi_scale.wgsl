// The scales of matrices, of what was measured of them; 0 where an element is not finite, of which
// the status says -1. A work-item for each matrix.
// 0 measures, 1 scales, 2 status.
// Variables: GROUP, T.
//! T: f32 f64
//! GROUP: 64
#let COMPLEX = 0
#include "range.wgsl"
#include "numbers.wgsl"
// The bits of twice the largest power of two whose reciprocal is no less than LEAST, and of that
// one.
#let DOUBLE = "0x7f000000u"
#let MOST = "0x7e800000u"
#if T == "f64"
#let DOUBLE = "0x7fe0000000000000lu"
#let MOST = "0x7fd0000000000000lu"
#end

struct Params { parts: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> measures: array<${T}>;
@group(0) @binding(1) var<storage, read_write> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> status: array<i32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = item_index(group, groups, local);
  if (matrix >= params.batch) { return; }
  var most = ${BITS}(0);
  for (var part = 0u; part < params.parts; part++) {
    let place = 3u * (matrix * params.parts + part);
    most = larger(most, larger(bits_of(measures[place]), bits_of(measures[place + 1u])));
  }
  let is_finite = most < ${INFINITE};
  var exponent = most & ${INFINITE};
  if (exponent > ${MOST}) { exponent = ${MOST}; }
  if (exponent == ${BITS}(0)) { exponent = ${LEAST}; }
  scales[2u * matrix] = select(${T}(0), bitcast<${T}>(${DOUBLE} - exponent), is_finite);
  scales[2u * matrix + 1u] = bitcast<${T}>(exponent);
  status[matrix] = select(-1, 0, is_finite);
}
