// Exchanges the rows of matrices beside a panel as its pivots say: a workgroup for COLUMNS columns,
// which reads all of them that change before it writes one.
// 0 x, 1 pivots.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params { n: u32, at: u32, size: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> pivots: array<u32>;
#let COLUMNS = 32
#let EACH = 2 * BLOCK * COLUMNS / GROUP
#let NOWHERE = "0xffffffffu"
var<workgroup> exchanged: array<u32, ${BLOCK}>;
/// Where rows go, and where they come from.
var<workgroup> targets: array<u32, ${2 * BLOCK}>;
var<workgroup> sources: array<u32, ${2 * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let size = params.size;
  if (local < size) { exchanged[local] = pivots[matrix * n + params.at + local] - params.at; }
  workgroupBarrier();
  if (local < ${2 * BLOCK}u) {
    let k = local % ${BLOCK}u;
    var place = ${NOWHERE};
    var row = 0u;
    if (k < size) {
      place = select(exchanged[k], k, local < ${BLOCK}u);
      // Each place once.
      if (local >= ${BLOCK}u) {
        var is_known = place < size;
        for (var before = 0u; before < k; before++) {
          is_known = is_known || exchanged[before] == place;
        }
        if (is_known) { place = ${NOWHERE}; }
      }
      row = place;
      for (var step = size; step > 0u; step--) {
        let other = exchanged[step - 1u];
        if (row == step - 1u) { row = other; } else if (row == other) { row = step - 1u; }
      }
      if (row == place) { place = ${NOWHERE}; }
    }
    targets[local] = place;
    sources[local] = row;
  }
  workgroupBarrier();
  var column = group.x * ${COLUMNS}u + local % ${COLUMNS}u;
  let is_inside = column < n - size;
  if (column >= params.at) { column += size; }
  let base = (matrix * n + params.at) * n + column;
  let first = local / ${COLUMNS}u;
#for i in 0..EACH
  var value${i} = ${NUMBER}();
  let to${i} = targets[first + ${i * GROUP / COLUMNS}u];
  if (is_inside && to${i} != ${NOWHERE}) {
    value${i} = x[base + sources[first + ${i * GROUP / COLUMNS}u] * n];
  }
#end
  storageBarrier();
  workgroupBarrier();
#for i in 0..EACH
  if (is_inside && to${i} != ${NOWHERE}) { x[base + to${i} * n] = value${i}; }
#end
}
