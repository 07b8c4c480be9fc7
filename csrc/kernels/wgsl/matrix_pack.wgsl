// A or B of a product, batched, as matrix units take them that want whole blocks (gemm_matrix.cl): of
// lines, 8 rows of A or so many columns of B, by 32 bytes of k; one block after another along k, with
// zeros beyond the matrix. A word has two of k of a line, or four bytes. The words of a line lie side
// by side in A, those of all lines of a block in B. Four words a work-item.
// 0 from, 1 packed.
// Variables: GROUP; T (f16, or u8 for bytes with or without a sign); COLUMNS (1: B); DEEP (1: lines lie
// along k in memory).
//! GROUP: 256
//! T: f16 u8
//! COLUMNS: 0 1
//! DEEP: 0 1
#if T == "f16"
enable f16;
#let ELEMENT = "f16"
#let STORED = "f16"
#let PER = 2
#else
#let ELEMENT = "u32"
#let STORED = "u32"
#let PER = 4
#end
#include "range.wgsl"
/// Sizes of the matrix; of the packed one the lines of a block, and blocks along k and across.
struct Params {
  lines: u32, k: u32, ld: u32, stride: u32,
  block_lines: u32, blocks_k: u32, blocks: u32, items: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${STORED}>;
@group(0) @binding(1) var<storage, read_write> packed: array<vec4<u32>>;

/// What of a line is at k, zero beyond the matrix.
fn element(base: u32, line: u32, k: u32) -> ${ELEMENT} {
  if (line >= params.lines || k >= params.k) { return ${ELEMENT}(); }
#if DEEP
  let at = base + line * params.ld + k;
#else
  let at = base + k * params.ld + line;
#end
#if T == "f16"
  return source[at];
#else
  return (source[at / 4u] >> (at % 4u * 8u)) & 255u;
#end
}

fn word(base: u32, line: u32, k: u32) -> u32 {
#if T == "f16"
  return bitcast<u32>(vec2<f16>(element(base, line, k), element(base, line, k + 1u)));
#else
#if DEEP
  let at = base + line * params.ld + k;
  if (line < params.lines && k + 4u <= params.k && at % 4u == 0u) { return source[at / 4u]; }
#end
  return element(base, line, k) | (element(base, line, k + 1u) << 8u) |
         (element(base, line, k + 2u) << 16u) | (element(base, line, k + 3u) << 24u);
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.items) { return; }
  // Neighbours read what lies side by side.
  let each = 2u * params.block_lines;
  let in_block = item % each;
  let block = item / each;
#if DEEP
  let deep = block % params.blocks_k;
  let across = block / params.blocks_k % params.blocks;
#else
  let across = block % params.blocks;
  let deep = block / params.blocks % params.blocks_k;
#end
  let batch = block / (params.blocks_k * params.blocks);
  let base = batch * params.stride;
  let first = across * params.block_lines;
  let start = deep * ${8 * PER}u;
#if COLUMNS
  let fours = params.block_lines / 4u;
#if DEEP
  let place = in_block % 8u * fours + in_block / 8u;
#else
  let place = in_block;
#end
  let line = first + place % fours * 4u;
  let k = start + ${PER}u * (place / fours);
  let words = vec4<u32>(word(base, line, k), word(base, line + 1u, k), word(base, line + 2u, k),
                        word(base, line + 3u, k));
#else
#if DEEP
  let place = in_block;
#else
  let place = in_block % params.block_lines * 2u + in_block / params.block_lines;
#end
  let line = first + place / 2u;
  let k = start + ${4 * PER}u * (place % 2u);
  let words = vec4<u32>(word(base, line, k), word(base, line, k + ${PER}u),
                        word(base, line, k + ${2 * PER}u), word(base, line, k + ${3 * PER}u));
#end
  packed[((batch * params.blocks + across) * params.blocks_k + deep) * each + place] = words;
}
