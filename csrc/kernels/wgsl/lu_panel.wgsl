// Factors a panel of at most 32 columns of each matrix by partial pivoting, from its diagonal down:
// a workgroup for each matrix. Rows are exchanged within the panel alone.
// 0 x, 1 permutation, 2 status, 3 pivots.
// Variables: GROUP.
//! GROUP: 256

struct Params { n: u32, at: u32, size: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> permutation: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> pivots: array<u32>;
var<workgroup> largest: array<f32, ${GROUP}>;
var<workgroup> places: array<u32, ${GROUP}>;
var<workgroup> pivot_row: array<f32, 32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  let base = matrix * n * n;
  let size = params.size;
  if (params.at == 0u) {
    for (var i = local; i < n; i += ${GROUP}u) { permutation[matrix * n + i] = i; }
  }
  var exchanges = 0u;
  var first_zero = 0u;
  for (var j = 0u; j < size; j++) {
    let k = params.at + j;
    var top = -1.0;
    var place = k;
    for (var row = k + local; row < n; row += ${GROUP}u) {
      let value = abs(x[base + row * n + k]);
      if (value > top) {
        top = value;
        place = row;
      }
    }
    largest[local] = top;
    places[local] = place;
    workgroupBarrier();
    // Of equal ones the first row.
    for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
      if (local < half) {
        let other = largest[local + half];
        let row = places[local + half];
        if (other > largest[local] || (other == largest[local] && row < places[local])) {
          largest[local] = other;
          places[local] = row;
        }
      }
      workgroupBarrier();
    }
    let pivot = places[0];
    if (local < size) {
      let here = base + k * n + params.at + local;
      let there = base + pivot * n + params.at + local;
      let value = x[there];
      pivot_row[local] = value;
      if (pivot != k) {
        x[there] = x[here];
        x[here] = value;
      }
    }
    if (local == 0u) {
      pivots[matrix * n + k] = pivot;
      if (pivot != k) {
        exchanges += 1u;
        let kept = permutation[matrix * n + k];
        permutation[matrix * n + k] = permutation[matrix * n + pivot];
        permutation[matrix * n + pivot] = kept;
      }
    }
    storageBarrier();
    workgroupBarrier();
    let divisor = pivot_row[j];
    if (divisor == 0.0) {
      if (first_zero == 0u) { first_zero = k + 1u; }
    } else {
      for (var row = k + 1u + local; row < n; row += ${GROUP}u) {
        x[base + row * n + k] /= divisor;
      }
    }
    storageBarrier();
    workgroupBarrier();
    let column = local % 32u;
    if (column > j && column < size) {
      for (var row = k + 1u + local / 32u; row < n; row += ${GROUP / 32}u) {
        let at = base + row * n;
        x[at + params.at + column] -= x[at + k] * pivot_row[column];
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (local == 0u) {
    let begins = params.at == 0u;
    let zero_before = select(status[2u * matrix], 0u, begins);
    status[2u * matrix] = select(zero_before, first_zero, zero_before == 0u);
    status[2u * matrix + 1u] = select(status[2u * matrix + 1u], 0u, begins) + exchanges;
  }
}
