// The rotations of a round of Jacobi's method, which make the element of each pair 0: their sine s,
// and s / (1 + cosine), by which they are applied with the least rounding.
// 0 a, 1 angles, 2 limits: what is no larger is left as it is.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 64
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_turn.wgsl"

struct Params { n: u32, players: u32, round: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> angles: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read> limits: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let k = group.x * ${GROUP}u + local;
  let pairs = params.players / 2u;
  if (k >= pairs) { return; }
  let pair = pair_of(k, params.round, params.players);
  var rotation = Rotation(${NUMBER}(), ${NUMBER}());
  if (pair.y < params.n) {
    let base = matrix * params.n * params.n;
    let beside = a[base + pair.x * params.n + pair.y];
    if (!is_zero(beside) && !(length_of(beside) <= limits[matrix])) {
      let first = real_of(a[base + pair.x * (params.n + 1u)]);
      let second = real_of(a[base + pair.y * (params.n + 1u)]);
      rotation = rotation_of(first, second, beside);
    }
  }
  let place = 2u * (matrix * pairs + k);
  angles[place] = rotation.sine;
  angles[place + 1u] = rotation.share;
}
