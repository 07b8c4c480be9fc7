// By which power of two the elements of each matrix are multiplied, so that their squares neither
// overflow nor vanish, and by which what comes of them; 0 where an element is not finite, of which
// the status says -1. A workgroup for each matrix.
// 0 source, 1 scales, 2 status.
// Variables: GROUP.
//! GROUP: 256

struct Params { elements: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> status: array<i32>;
var<workgroup> largest: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  // Magnitudes are in the order of their bits, NaN behind infinity.
  var most = 0u;
  for (var e = local; e < params.elements; e += ${GROUP}u) {
    most = max(most, bitcast<u32>(source[matrix * params.elements + e]) & 0x7fffffffu);
  }
  largest[local] = most;
  workgroupBarrier();
  if (local != 0u) { return; }
  for (var i = 0u; i < ${GROUP}u; i++) { most = max(most, largest[i]); }
  let is_finite = most < 0x7f800000u;
  var exponent = min(most & 0x7f800000u, 0x7e800000u);
  if (exponent == 0u) { exponent = 0x3f800000u; }
  scales[2u * matrix] = select(0.0, bitcast<f32>(0x7f000000u - exponent), is_finite);
  scales[2u * matrix + 1u] = bitcast<f32>(exponent);
  status[matrix] = select(-1, 0, is_finite);
}
