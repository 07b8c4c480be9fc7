// The rotations of a round of Jacobi's method, which make the element of each pair 0: their sine s,
// and s / (1 + cosine), by which they are applied with the least rounding.
// 0 a, 1 angles.
// Variables: GROUP.
//! GROUP: 64
#include "jacobi_pairs.wgsl"

struct Params { n: u32, players: u32, round: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> angles: array<f32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let k = group.x * ${GROUP}u + local;
  let pairs = params.players / 2u;
  if (k >= pairs) { return; }
  let pair = pair_of(k, params.round, params.players);
  var sine = 0.0;
  var share = 0.0;
  if (pair.y < params.n) {
    let base = matrix * params.n * params.n;
    let beside = a[base + pair.x * params.n + pair.y];
    if (beside != 0.0) {
      let first = a[base + pair.x * params.n + pair.x];
      let second = a[base + pair.y * params.n + pair.y];
      let ratio = (second - first) / (2.0 * beside);
      let tangent = select(-1.0, 1.0, ratio >= 0.0) / (abs(ratio) + sqrt(fma(ratio, ratio, 1.0)));
      let cosine = 1.0 / sqrt(fma(tangent, tangent, 1.0));
      sine = tangent * cosine;
      share = sine / (1.0 + cosine);
    }
  }
  let place = 2u * (matrix * pairs + k);
  angles[place] = sine;
  angles[place + 1u] = share;
}
