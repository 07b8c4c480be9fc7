// A matrix product whose operands are found by index arithmetic, for the kernels of conv2d:
// out[row, col] = sum over deep of a[row, deep] * b[deep, col], in each group of channels. col and
// deep are numbers of three digits, such as (image, y, x) or (channel, y, x).
// Around this file: load_a(group, row, deep) and load_b(group, deep, col) with deep and col as
// digits, store(group, piece, row, col, value) with col as the number; Params as below.
// Variables: DIRECT (1: LANES work-items an output, for few rows; 0: a BM x BN tile a workgroup
// with TM x TN of it a work-item, deep in steps of BK), B_DEEP (1: neighbours of b lie along deep).
struct Params {
  m: u32, n: u32, k: u32,
  pieces: u32, piece: u32,  // of deep; each leaves a result of its own
  tiles_n: u32, first: u32, // the first (group, piece) of this launch
  col_y: u32, col_z: u32, deep_y: u32, deep_z: u32,  // sizes of the lower digits
  filters: u32, channels: u32,  // of one group
  groups: u32,
  height: u32, width: u32, filter_height: u32, filter_width: u32, out_height: u32, out_width: u32,
  stride_h: u32, stride_w: u32, pad_h: u32, pad_w: u32, dilation_h: u32, dilation_w: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;

fn digits(i: u32, y: u32, z: u32) -> vec3<u32> { return vec3<u32>(i / (y * z), i / z % y, i % z); }
/// The digits of a sum.
fn advanced(a: vec3<u32>, b: vec3<u32>, y: u32, z: u32) -> vec3<u32> {
  var d = a + b;
  if (d.z >= z) { d = vec3<u32>(d.x, d.y + 1u, d.z - z); }
  if (d.y >= y) { d = vec3<u32>(d.x + 1u, d.y - y, d.z); }
  return d;
}

#if DIRECT
#if LANES > 1
var<workgroup> partial: array<f32, ${GROUP}>;
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = (workgroup.x + workgroup.y * workgroups.x) * ${GROUP / LANES}u + local / ${LANES}u;
  let group = (params.first + workgroup.z) / params.pieces;
  let piece = (params.first + workgroup.z) % params.pieces;
  let row = index / params.n;
  let col = index % params.n;
  let place = digits(col, params.col_y, params.col_z);
  let end = select(0u, min(params.k, (piece + 1u) * params.piece), row < params.m);
  let first = piece * params.piece + local % ${LANES}u;
  var deep = digits(first, params.deep_y, params.deep_z);
  let step = digits(${LANES}u, params.deep_y, params.deep_z);
  var sums = vec4<f32>();
  for (var i = first; i < end; i += ${4 * LANES}u) {
#for e in 0..4
    if (i + ${e * LANES}u < end) {
      sums[${e}] = fma(load_a(group, row, deep), load_b(group, deep, place), sums[${e}]);
    }
    deep = advanced(deep, step, params.deep_y, params.deep_z);
#end
  }
  let sum = (sums.x + sums.y) + (sums.z + sums.w);
#if LANES > 1
  partial[local] = sum;
  for (var width = ${LANES / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local % ${LANES}u < width) { partial[local] += partial[local + width]; }
  }
  if (local % ${LANES}u == 0u && row < params.m) { store(group, piece, row, col, partial[local]); }
#else
  if (row < params.m) { store(group, piece, row, col, sum); }
#end
}
#else
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
#let LOADS_A = BM * BK / THREADS
#let LOADS_B = BN * BK / THREADS
// Neighbours write one below the other. So that they meet different banks of memory, the vectors of a
// line change places with others of their eight, by the number of the line.
var<workgroup> tile_a: array<vec4<f32>, ${BK * BM / 4}>;
var<workgroup> tile_b: array<vec4<f32>, ${BK * BN / 4}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = workgroup.x + workgroup.y * workgroups.x;
  let group = (params.first + workgroup.z) / params.pieces;
  let piece = (params.first + workgroup.z) % params.pieces;
  let row0 = tile / params.tiles_n * ${BM}u;
  let col0 = tile % params.tiles_n * ${BN}u;
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
  let first = piece * params.piece;
  let end = min(params.k, first + params.piece);
  let step = digits(${BK}u, params.deep_y, params.deep_z);
  // What this work-item reads: of a always, of b with B_DEEP, the same deep in several rows or
  // columns; else the same column of b at several deep.
  var deep_a = digits(first + t % ${BK}u, params.deep_y, params.deep_z);
#if B_DEEP
#for i in 0..LOADS_B
  let col_b${i} = digits(col0 + (t + ${i * THREADS}u) / ${BK}u, params.col_y, params.col_z);
#end
#else
  let col_b = digits(col0 + t % ${BN}u, params.col_y, params.col_z);
#for i in 0..LOADS_B
  var deep_b${i} = digits(first + (t + ${i * THREADS}u) / ${BN}u, params.deep_y, params.deep_z);
#end
#end
#for i in 0..TM
#for j in 0..TN
  var c${i}_${j} = 0.0;
#end
#end
  for (var at = first; at < end; at += ${BK}u) {
    // Read into registers while other work-items may still use the tiles.
#for i in 0..LOADS_A
    var a${i} = 0.0;
    if (at + t % ${BK}u < end && row0 + (t + ${i * THREADS}u) / ${BK}u < params.m) {
      a${i} = load_a(group, row0 + (t + ${i * THREADS}u) / ${BK}u, deep_a);
    }
#end
#for i in 0..LOADS_B
    var b${i} = 0.0;
#if B_DEEP
    if (at + t % ${BK}u < end && col0 + (t + ${i * THREADS}u) / ${BK}u < params.n) {
      b${i} = load_b(group, deep_a, col_b${i});
    }
#else
    if (at + (t + ${i * THREADS}u) / ${BN}u < end && col0 + t % ${BN}u < params.n) {
      b${i} = load_b(group, deep_b${i}, col_b);
    }
    deep_b${i} = advanced(deep_b${i}, step, params.deep_y, params.deep_z);
#end
#end
    deep_a = advanced(deep_a, step, params.deep_y, params.deep_z);
    workgroupBarrier();
#for i in 0..LOADS_A
    {
      let row = (t + ${i * THREADS}u) / ${BK}u;
      tile_a[t % ${BK}u * ${BM / 4}u + ((row / 4u) ^ (t % 8u))][row % 4u] = a${i};
    }
#end
#for i in 0..LOADS_B
#if B_DEEP
    {
      let col = (t + ${i * THREADS}u) / ${BK}u;
      tile_b[t % ${BK}u * ${BN / 4}u + ((col / 4u) ^ (t % 8u))][col % 4u] = b${i};
    }
#else
    tile_b[(t + ${i * THREADS}u) / ${BN}u * ${BN / 4}u + t % ${BN}u / 4u][t % 4u] = b${i};
#end
#end
    workgroupBarrier();
#for kk in 0..BK
    {
#for i in 0..TM/4
      let x${i} = tile_a[${kk * (BM / 4) + i * NY}u + (ty ^ ${kk % 8}u)];
#end
#for j in 0..TN/4
#if B_DEEP
      let y${j} = tile_b[${kk * (BN / 4) + j * NX}u + (tx ^ ${kk % 8}u)];
#else
      let y${j} = tile_b[${kk * (BN / 4) + j * NX}u + tx];
#end
#end
      // There and back, as in gemm.wgsl.
#for j in 0..TN
#for n in 0..TM
#let i = n + j % 2 * (TM - 1 - 2 * n)
      c${i}_${j} = fma(x${i / 4}[${i % 4}], y${j / 4}[${j % 4}], c${i}_${j});
#end
#end
    }
#end
  }
#for i in 0..TM
  if (row0 + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u < params.m) {
    let row = row0 + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u;
#for j in 0..TN/4
#for e in 0..4
    if (col0 + ${j * NX * 4 + e}u + tx * 4u < params.n) {
      store(group, piece, row, col0 + ${j * NX * 4 + e}u + tx * 4u, c${i}_${4 * j + e});
    }
#end
#end
  }
#end
}
#end
