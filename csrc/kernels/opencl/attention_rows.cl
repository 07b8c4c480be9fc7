// attention for few queries, one query and one piece of the keys a workgroup: o of that piece with
// a running maximum and sum. Pieces are joined by attention_join.cl.
// 0 q, 1 k, 2 v, 3 o, or with PIECES the sums over each piece's keys not yet divided, piece by
// piece in float32; 4 with PIECES: the maximum and the sum of each.
// Four work-items make the score of a key, COLUMNS (a power of two, at least head_dim, at most
// GROUP) walk the columns of o and the rest the keys. VECTOR: rows are whole vectors of four.
//! twin: tuned to the registers of Intel's GPUs
//! T: f32 f16
//! VECTOR: 0 1
//! PIECES: 0 1
//! GROUP: 256
//! CAUSAL: constant
//! COLUMNS: constant
#include "head_rows.h"
#include "items.h"
#include "running_softmax.h"
#include "vectors.h"

#define KEYS (GROUP / 4)
#define WALKERS (GROUP / COLUMNS)
typedef struct {
  uint rows, share, heads, seq_q, seq_kv, head_dim, q_offset, pieces, piece;
  float scale;
  uint zero;
  HeadRows q, k, v, o;
} Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void attention_rows(global const ITEM* q, global const ITEM* k, global const T* v,
#if PIECES
                           global float* o, global float2* tops_and_sums,
#else
                           global T* o,
#endif
                           const Params params) {
  local float products[GROUP];
  local float powers[GROUP];
  const uint t = get_local_id(0);
  const uint index = group_index();
  if (index >= params.rows * params.pieces) return;
  const uint row = index % params.rows;
  const uint piece = index / params.rows;
  const uint batch = row / params.seq_q / params.heads;
  const uint head = row / params.seq_q % params.heads;
  const uint query = row % params.seq_q;
  const uint base_q = row_start(params.q, batch, head, query) / WIDTH;
  const uint base_k = row_start(params.k, batch, head / params.share, 0) / WIDTH;
  const uint base_v = row_start(params.v, batch, head / params.share, 0);
  const uint k_stride = params.k.seq / WIDTH;
  const uint seen =
      CAUSAL ? min(params.seq_kv, query + params.q_offset + 1) : params.seq_kv;
  const uint end = min(seen, (piece + 1) * params.piece);
  const uint row_size = params.head_dim / WIDTH;
  const uint column = t % COLUMNS;
  const bool has_column = column < params.head_dim;
  float top = -INFINITY;
  float sum = 0;
  float result = 0;
  for (uint key0 = piece * params.piece; key0 < end; key0 += KEYS) {
    const uint key = key0 + t / 4;
    WIDE product = 0;
    if (key < end) {
      for (uint d = t % 4; d < row_size; d += 4) {
        product = fma(to_wide(q[base_q + d]), to_wide(k[base_k + key * k_stride + d]), product);
      }
    }
    local_barrier();
    products[t] = across(product);
    local_barrier();
    float score = -INFINITY;
    if (t < KEYS && key0 + t < end) {
      score = params.scale * ((products[4 * t] + products[4 * t + 1]) +
                              (products[4 * t + 2] + products[4 * t + 3]));
    }
    powers[t] = score;
    for (uint width = KEYS / 2; width > 0; width /= 2) {
      local_barrier();
      if (t < width) powers[t] = larger(powers[t], powers[t + width]);
    }
    local_barrier();
    const float higher = larger(powers[0], top);
    const float factor = rescale(top, higher);
    top = higher;
    local_barrier();
    if (t < KEYS) powers[t] = exp(score - reference_of(top));
    local_barrier();
    float in_tile = 0;
    UNROLL for (uint j = 0; j < KEYS; ++j) in_tile += powers[j];
    sum = sum * factor + in_tile;
    result *= factor;
    if (has_column) {
      for (uint j = t / COLUMNS; j < min(KEYS, end - key0); j += WALKERS) {
        result = fma(powers[j], (float)v[base_v + (key0 + j) * params.v.seq + column], result);
      }
    }
  }
  local_barrier();
  powers[t] = result;
  for (uint width = WALKERS / 2; width > 0; width /= 2) {
    local_barrier();
    if (t / COLUMNS < width) powers[t] += powers[t + width * COLUMNS];
  }
#if PIECES
  if (t < params.head_dim) o[index * params.head_dim + t] = powers[t];
  if (t == 0) tops_and_sums[index] = (float2)(top, sum);
#else
  if (t < params.head_dim) {
    o[row_start(params.o, batch, head, query) + t] = (T)(powers[t] / sum);
  }
#endif
}
