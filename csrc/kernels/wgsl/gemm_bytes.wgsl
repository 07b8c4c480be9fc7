// C = op(A) * op(B) (+ C) of int8 or uint8 into int32, whose sums wrap: TILE x TILE of C a workgroup,
// by dot products of four along k. k may be cut in `pieces` (split-K), which add to C.
// 0 a, 1 b, 2 c.
// Tiles lie in workgroup memory by words of four along k. What is stored with k along its rows is
// read by vectors where those start on whole ones, else by words that may lie across two; what is
// stored across is turned in blocks of 4 x 4.
// Variables: TILE (128 or 64); TA TB (1: stored transposed); SIGNED; VECTOR_A, VECTOR_B (1: along k
// whole vectors of 16, across whole words); STORE (0 elements, 1 vectors, 2 added by atomics).
//! TILE: 64
//! TA: 0 1
//! TB: 0 1
//! SIGNED: 0 1
//! VECTOR_A: 0
//! VECTOR_B: 0
//! STORE: 0 2
#let THREADS = 256
#let WORDS = 1024 / TILE
#let PITCH = TILE + 4
#let EACH = TILE / 16
#let DOT = "i32(dot4U8Packed"
#if SIGNED
#let DOT = "(dot4I8Packed"
#end
struct Params {
  m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
  stride_a: u32, stride_b: u32, stride_c: u32,
  tiles_n: u32, tiles: u32, pieces: u32, piece: u32, first: u32, adds: u32, last_a: u32,
  last_b: u32,
}
var<immediate> params: Params;
#for side in 0..2
#if side == 0
#let X = "a"
#let ALONG = 1 - TA
#let VECTOR = VECTOR_A
#else
#let X = "b"
#let ALONG = TB
#let VECTOR = VECTOR_B
#end
#if ALONG && VECTOR
@group(0) @binding(${side}) var<storage, read> ${X}: array<vec4<u32>>;
#else
@group(0) @binding(${side}) var<storage, read> ${X}: array<u32>;
/// Four bytes from `at` on; what is behind the matrix is whatever there is.
fn word_of_${X}(at: u32) -> u32 {
#if VECTOR
  return ${X}[at / 4u];
#else
  let last = params.last_${X};
  let low = ${X}[min(at / 4u, last)];
  let high = ${X}[min(at / 4u + 1u, last)];
  let shift = at % 4u * 8u;
  return (low >> shift) | select(0u, high << ((32u - shift) & 31u), shift != 0u);
#end
}
#end
var<workgroup> tile_${X}: array<u32, ${WORDS * PITCH}>;
#end
#if STORE == 2
@group(0) @binding(2) var<storage, read_write> c: array<atomic<i32>>;
#elif STORE == 1
@group(0) @binding(2) var<storage, read_write> c: array<vec4<i32>>;
#else
@group(0) @binding(2) var<storage, read_write> c: array<i32>;
#end

/// Of a word the bytes that are before the end, `count` of them.
fn kept(word: u32, count: u32) -> u32 {
  return select(word & ((1u << (count * 8u % 32u)) - 1u), word, count >= 4u);
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let tile = group.x + group.z * groups.x;
  if (tile >= params.tiles) { return; }
  let top = tile / params.tiles_n * ${TILE}u;
  let left = tile % params.tiles_n * ${TILE}u;
  let product = params.first + group.y;
  let batch = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let end = min(start + params.piece, params.k);
  let first_a = batch * params.stride_a;
  let first_b = batch * params.stride_b;
  let tx = local % 16u * 4u;
  let ty = local / 16u * 4u;
#for i in 0..EACH
#for j in 0..EACH
  var c${i}_${j} = 0;
#end
#end
  for (var k = start; k < end; k += ${WORDS * 4}u) {
#for side in 0..2
#if side == 0
#let X = "a"
#let ALONG = 1 - TA
#let VECTOR = VECTOR_A
#let ORIGIN = "top"
#let EXTENT = "params.m"
#else
#let X = "b"
#let ALONG = TB
#let VECTOR = VECTOR_B
#let ORIGIN = "left"
#let EXTENT = "params.n"
#end
#if ALONG
    let line_${X} = local / ${WORDS / 4}u;
    let deep_${X} = local % ${WORDS / 4}u * 4u;
    let row_${X} = first_${X} + min(${ORIGIN} + line_${X}, ${EXTENT} - 1u) * params.ld${X};
    let from_${X} = k + deep_${X} * 4u;
    var words_${X} = vec4<u32>();
    if (from_${X} < end) {
#if VECTOR
      words_${X} = ${X}[(row_${X} + from_${X}) / 16u];
#else
#for e in 0..4
      if (from_${X} + ${4 * e}u < end) {
        words_${X}[${e}] = kept(word_of_${X}(row_${X} + from_${X} + ${4 * e}u),
                                end - from_${X} - ${4 * e}u);
      }
#end
#end
    }
#else
    let line_${X} = local % ${TILE / 4}u * 4u;
    let deep_${X} = local / ${TILE / 4}u;
    let column_${X} = first_${X} + min(${ORIGIN} + line_${X}, (${EXTENT} - 1u) / 4u * 4u);
#for e in 0..4
    let k${e}_${X} = k + deep_${X} * 4u + ${e}u;
    var row${e}_${X} = 0u;
    if (k${e}_${X} < end) { row${e}_${X} = word_of_${X}(column_${X} + k${e}_${X} * params.ld${X}); }
#end
    let even0_${X} = (row0_${X} & 0x00ff00ffu) | ((row1_${X} & 0x00ff00ffu) << 8u);
    let odd0_${X} = ((row0_${X} >> 8u) & 0x00ff00ffu) | (row1_${X} & 0xff00ff00u);
    let even1_${X} = (row2_${X} & 0x00ff00ffu) | ((row3_${X} & 0x00ff00ffu) << 8u);
    let odd1_${X} = ((row2_${X} >> 8u) & 0x00ff00ffu) | (row3_${X} & 0xff00ff00u);
#end
#end
    workgroupBarrier();
#for side in 0..2
#if side == 0
#let X = "a"
#let ALONG = 1 - TA
#else
#let X = "b"
#let ALONG = TB
#end
#if ALONG
#for e in 0..4
    tile_${X}[(deep_${X} + ${e}u) * ${PITCH}u + line_${X}] = words_${X}[${e}];
#end
#else
    let to_${X} = deep_${X} * ${PITCH}u + line_${X};
    tile_${X}[to_${X}] = (even0_${X} & 0xffffu) | (even1_${X} << 16u);
    tile_${X}[to_${X} + 1u] = (odd0_${X} & 0xffffu) | (odd1_${X} << 16u);
    tile_${X}[to_${X} + 2u] = (even0_${X} >> 16u) | (even1_${X} & 0xffff0000u);
    tile_${X}[to_${X} + 3u] = (odd0_${X} >> 16u) | (odd1_${X} & 0xffff0000u);
#end
#end
    workgroupBarrier();
    for (var w = 0u; w < ${WORDS * PITCH}u; w += ${PITCH}u) {
#for i in 0..EACH
      let a${i} = tile_a[w + ty + ${i / 4 * 64 + i % 4}u];
      let b${i} = tile_b[w + tx + ${i / 4 * 64 + i % 4}u];
#end
#for i in 0..EACH
#for j in 0..EACH
      c${i}_${j} += ${DOT}(a${i}, b${j}));
#end
#end
    }
  }
  let first_c = batch * params.stride_c;
#for i in 0..EACH
  {
    let row = top + ty + ${i / 4 * 64 + i % 4}u;
    if (row < params.m) {
      let line = first_c + row * params.ldc;
#if STORE == 1
#for j in 0..EACH / 4
      if (left + tx + ${j * 64}u < params.n) {
        let at = (line + left + tx + ${j * 64}u) / 4u;
        var sum = vec4<i32>(c${i}_${4 * j}, c${i}_${4 * j + 1}, c${i}_${4 * j + 2}, c${i}_${4 * j + 3});
        if (params.adds != 0u) { sum += c[at]; }
        c[at] = sum;
      }
#end
#else
#for j in 0..EACH
      if (left + tx + ${j / 4 * 64 + j % 4}u < params.n) {
        let at = line + left + tx + ${j / 4 * 64 + j % 4}u;
#if STORE == 2
        atomicAdd(&c[at], c${i}_${j});
#else
        var sum = c${i}_${j};
        if (params.adds != 0u) { sum += c[at]; }
        c[at] = sum;
#end
      }
#end
#end
    }
  }
#end
}
