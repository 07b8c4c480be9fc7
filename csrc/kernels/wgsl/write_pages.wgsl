// Keys and values of tokens to their pages, LANES work-items a row; with ROTATES keys are rotated on
// their way and queries where they lie, as of rope.wgsl. Of int8 a row has a scale: its largest size
// by 127.
// Bindings in this order: x, cache, the slot of each token, of int8 the scales, with ROTATES cos,
// sin and the row of the tables of each token.
// Variables: GROUP, T, PAGES (how the cache is stored: f32, f16, i8), ROTATES, WRITES (1: queries
// are rotated), WORDS (1: rows of int8 are whole words).
//! T: f32 f16
//! PAGES: f32 f16 i8
//! ROTATES: 0 1
//! WRITES: as 1
//! WORDS: 0 1
//! GROUP: 256
//! only: PAGES == "i8" or PAGES == T and WORDS == 0 or T == "f32" and PAGES == "f16" and WORDS == 0
#if T == "f16" || PAGES == "f16"
enable f16;
#end
#let LANES = 32
#let ROWS = GROUP / LANES
struct Params {
  rows: u32, of_token: u32, first_head: u32, heads: u32, turned: u32, both: u32,
  head_dim: u32, half_dim: u32, step: u32, apart: u32, table_rows: u32,
  slots: u32, page_size: u32, not_a_number: u32,
  x_start: u32, x_token: u32, x_head: u32,
  c_start: u32, c_page: u32, c_place: u32, c_head: u32,
}
var<immediate> params: Params;
#if WRITES
@group(0) @binding(0) var<storage, read_write> x: array<${T}>;
#else
@group(0) @binding(0) var<storage, read> x: array<${T}>;
#end
#let NEXT = 3
#if PAGES == "i8"
#let NEXT = 4
#if WORDS
@group(0) @binding(1) var<storage, read_write> cache: array<u32>;
#else
@group(0) @binding(1) var<storage, read_write> cache: array<atomic<u32>>;
#end
@group(0) @binding(3) var<storage, read_write> scales: array<f32>;
var<workgroup> sizes: array<u32, ${GROUP}>;
#else
@group(0) @binding(1) var<storage, read_write> cache: array<${PAGES}>;
#end
@group(0) @binding(2) var<storage, read> slots: array<u32>;
#if ROTATES
@group(0) @binding(${NEXT}) var<storage, read> cosines: array<${T}>;
@group(0) @binding(${NEXT + 1}) var<storage, read> sines: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read> positions: array<u32>;
#end

#if ROTATES
/// The pair of a row whose first element is at `at`, by row `angles` of the tables.
fn pair_at(at: u32, angles: u32, pair: u32) -> vec2<f32> {
  // A negative row is a large one here.
  if (angles >= params.table_rows) { return vec2<f32>(bitcast<f32>(params.not_a_number)); }
  let a = f32(x[at]);
  let b = f32(x[at + params.apart]);
  let c = f32(cosines[angles * params.half_dim + pair]);
  let s = f32(sines[angles * params.half_dim + pair]);
  return vec2<f32>(a * c - b * s, b * c + a * s);
}
#end

/// Element i of the row at `start`, which with `turns` is rotated.
fn element(start: u32, i: u32, turns: bool, angles: u32) -> f32 {
#if ROTATES
  if (turns && i < 2u * params.half_dim) {
    // Of halves the step is 1, of neighbours 2.
    var pair = i / 2u;
    var second = i % 2u;
    if (params.step == 1u) {
      second = select(0u, 1u, i >= params.half_dim);
      pair = i - second * params.half_dim;
    }
    let both = pair_at(start + pair * params.step, angles, pair);
    return select(both.x, both.y, second == 1u);
  }
#end
  return f32(x[start + i]);
}

#if PAGES == "i8"
/// 127 / largest to nearest, the same on all devices: by whole numbers.
fn inverse_of(largest: u32) -> f32 {
  let divisor = (largest & 0x7fffffu) | 0x800000u;
  var rest = 127u << 24u;
  var quotient = rest / divisor;
  rest = rest % divisor;
#for i in 0..3
  rest = rest << 8u;
  quotient = (quotient << 8u) | (rest / divisor);
  rest = rest % divisor;
#end
  // It has 31 or 32 bits, of which 24 stay.
  let cut = select(7u, 8u, quotient > 0x7fffffffu);
  let half = 1u << (cut - 1u);
  let left = quotient & (2u * half - 1u);
  var kept = quotient >> cut;
  if (left > half || (left == half && (rest != 0u || (kept & 1u) == 1u))) { kept += 1u; }
  return f32(kept) * bitcast<f32>(0x33800000u) *
         bitcast<f32>((cut + 253u - (largest >> 23u)) << 23u);
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let lane = t % ${LANES}u;
  let row = (group.x + group.y * groups.x) * ${ROWS}u + t / ${LANES}u;
  let token = row / params.of_token;
  let head = params.first_head + row % params.of_token;
  var slot = 0xffffffffu;
  var angles = 0u;
  if (row < params.rows) {
    slot = slots[token];
#if ROTATES
    angles = positions[token];
#end
  }
  let start = params.x_start + token * params.x_token + head * params.x_head;
#if WRITES && ROTATES
  if (row < params.rows && head < params.heads) {
    for (var pair = lane; pair < params.half_dim; pair += ${LANES}u) {
      let at = start + pair * params.step;
      let both = pair_at(at, angles, pair);
      x[at] = ${T}(both.x);
      x[at + params.apart] = ${T}(both.y);
    }
  }
#end
  // A negative slot is a large one here.
  let stored = head >= params.heads && slot < params.slots;
  let page = slot / params.page_size;
  let place = slot % params.page_size;
  let own = head - params.heads;
  let to = params.c_start + page * params.c_page + place * params.c_place + own * params.c_head;
  let turns = head < params.turned;
#if PAGES == "i8"
  var size = 0u;
  if (stored) {
    for (var i = lane; i < params.head_dim; i += ${LANES}u) {
      size = max(size, bitcast<u32>(element(start, i, turns, angles)) & 0x7fffffffu);
    }
  }
  sizes[t] = size;
  workgroupBarrier();
  if (!stored) { return; }
  let first = t - lane;
#for i in 0..LANES
  size = max(size, sizes[first + ${i}u]);
#end
  // From 1e-30 to the largest number.
  let usual = size >= 0x0da24260u && size <= 0x7f7fffffu;
  var inverse = 0.0;
  if (usual) { inverse = inverse_of(size); }
  if (lane == 0u) {
    var scale = 0.0;
    if (usual) {
      scale = bitcast<f32>(size) * bitcast<f32>(0x3c010204u);
    } else if (size > 0x7f7fffffu) {
      scale = bitcast<f32>(params.not_a_number);
    }
    scales[(page * params.both + own) * params.page_size + place] = scale;
  }
#if WORDS
  for (var i = lane * 4u; i < params.head_dim; i += ${4 * LANES}u) {
    var word = 0u;
    if (usual) {
#for e in 0..4
      word |= (bitcast<u32>(i32(round(element(start, i + ${e}u, turns, angles) * inverse))) & 0xffu)
              << ${8 * e}u;
#end
    }
    cache[(to + i) / 4u] = word;
  }
#else
  for (var i = lane; i < params.head_dim; i += ${LANES}u) {
    var byte = 0u;
    if (usual) {
      byte = bitcast<u32>(i32(round(element(start, i, turns, angles) * inverse))) & 0xffu;
    }
    let at = to + i;
    let shift = at % 4u * 8u;
    // Others write the bytes beside it.
    atomicAnd(&cache[at / 4u], ~(0xffu << shift));
    atomicOr(&cache[at / 4u], byte << shift);
  }
#end
#else
  if (!stored) { return; }
  for (var i = lane; i < params.head_dim; i += ${LANES}u) {
    cache[to + i] = ${PAGES}(element(start, i, turns, angles));
  }
#end
}
