// attention for few queries, some of whose heads share a kv head: up to ROWS rows of q that see the
// same keys, and one piece of these, a workgroup, so that each key and value is read once for all.
// Pieces are joined by attention_join.cl.
// 0 q, 1 k, 2 v, 3 o, or with PIECES the sums over each piece's keys not yet divided, piece by
// piece in float32; 4 with PIECES: the maximum and the sum of each.
// Four rows share a vector, of which there are FOURS. Four work-items make the scores of a key,
// COLUMNS (a power of two, at least head_dim, at most GROUP / FOURS) walk the columns of o and the
// rest the keys. VECTOR: rows are whole vectors of four.
//! twin: tuned to the registers of Intel's GPUs
//! T: f32 f16
//! VECTOR: 0 1
//! PIECES: 0 1
//! FOURS: 1 2
//! GROUP: 256
//! CAUSAL: constant
//! COLUMNS: constant
#include "head_rows.h"
#include "items.h"
#include "vectors.h"

#define KEYS (GROUP / 4)
#define ROWS (FOURS * 4)
#define WALKERS (GROUP / COLUMNS)
typedef struct {
  uint rows, sharing, chunks, groups, kv_heads, seq_q, seq_kv, head_dim, q_offset, pieces, piece;
  float scale;
  uint zero;
  HeadRows q, k, v, o;
} Params;

/// What a sum under the maximum `top` is worth under `higher`.
static inline float4 rescale(float4 top, float4 higher) {
  return top == -INFINITY ? (float4)(0) : exp(top - higher);
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void attention_shared(global const T* q, global const ITEM* k, global const T* v,
#if PIECES
                             global float* o, global float2* tops_and_sums,
#else
                             global T* o,
#endif
                             const Params params) {
  local float4 queries[GROUP];  // element by element, the rows beside each other
  local float4 parts[FOURS][GROUP];
  local float4 powers[FOURS * KEYS];
  local float4 sums[FOURS * KEYS];  // of the powers of every KEYS-th key; no register to spare
  const uint t = get_local_id(0);
  const uint index = group_index();
  if (index >= params.groups * params.pieces) return;
  const uint piece = index / params.groups;
  const uint matrix = index % params.groups / params.chunks;
  const uint first = index % params.chunks * ROWS;  // row of those that share the keys
  const uint rows = min((uint)ROWS, params.sharing - first);
  const uint batch = matrix / params.kv_heads;
  const uint kv_head = matrix % params.kv_heads;
  const uint head0 = kv_head * (params.sharing / params.seq_q);
  const uint base_k = row_start(params.k, batch, kv_head, 0) / WIDTH;
  const uint base_v = row_start(params.v, batch, kv_head, 0);
  const uint k_stride = params.k.seq / WIDTH;
  // Rows past the last one are as it is, and not stored.
  uint4 seen[FOURS];
  uint most = 0;
  UNROLL for (uint r = 0; r < ROWS; ++r) {
    const uint row = first + min(r, rows - 1);
    const uint here =
        CAUSAL ? min(params.seq_kv, row % params.seq_q + params.q_offset + 1) : params.seq_kv;
    seen[r / 4][r % 4] = here;
    most = max(most, here);
  }
  const uint end = min(most, (piece + 1) * params.piece);
  for (uint i = t; i < params.head_dim * FOURS; i += GROUP) {
    float4 x = 0;
    UNROLL for (uint r = 0; r < 4; ++r) {
      const uint row = first + i % FOURS * 4 + r;
      const uint of_row =
          row_start(params.q, batch, head0 + row / params.seq_q, row % params.seq_q);
      if (row < first + rows) x[r] = (float)q[of_row + i / FOURS];
    }
    queries[i] = x;
  }
  const uint row_size = params.head_dim / WIDTH;
  const uint column = t % COLUMNS;
  const uint slot = t / KEYS;  // the four rows whose softmax this work-item makes
  float4 top[FOURS], result[FOURS];
  UNROLL for (uint f = 0; f < FOURS; ++f) {
    top[f] = -INFINITY;
    result[f] = 0;
  }
  if (slot < FOURS) sums[t] = 0;
  local_barrier();
  for (uint key0 = piece * params.piece; key0 < end; key0 += KEYS) {
    const uint key = key0 + t / 4;
    float4 product[FOURS];
    UNROLL for (uint f = 0; f < FOURS; ++f) product[f] = 0;
    if (key < end) {
      for (uint d = t % 4; d < row_size; d += 4) {
        const ITEM item = k[base_k + key * k_stride + d];
        const WIDE x = to_wide(item);
#if VECTOR
        UNROLL for (uint e = 0; e < 4; ++e) {
          UNROLL for (uint f = 0; f < FOURS; ++f) {
            product[f] = fma(queries[(d * 4 + e) * FOURS + f], (float4)(x[e]), product[f]);
          }
        }
#else
        UNROLL for (uint f = 0; f < FOURS; ++f) {
          product[f] = fma(queries[d * FOURS + f], (float4)(x), product[f]);
        }
#endif
      }
    }
    // Nobody reads what was there: a barrier lies behind the last reads of the tile before.
    UNROLL for (uint f = 0; f < FOURS; ++f) parts[f][t] = product[f];
    local_barrier();
    float4 score = -INFINITY;
    if (slot < FOURS) {
      const uint own = key0 + t % KEYS;
      const local float4* of_key = &parts[slot][t % KEYS * 4];
      const float4 all = ((of_key[0] + of_key[1]) + (of_key[2] + of_key[3])) * params.scale;
      UNROLL for (uint f = 0; f < FOURS; ++f) {
        if (slot == f && own < end) score = own < seen[f] ? all : (float4)(-INFINITY);
      }
      powers[t] = score;
    }
    // Written out: of a loop here a CPU runtime makes wrong code where COLUMNS is GROUP.
    UNROLLED(2, i, {
      const uint step = i == 0 ? KEYS / 4 : KEYS / 16;
      local_barrier();
      if (slot < FOURS && t % KEYS < step) {
        powers[t] = fmax(fmax(powers[t], powers[t + step]),
                         fmax(powers[t + 2 * step], powers[t + 3 * step]));
      }
    })
    local_barrier();
    float4 factor[FOURS];
    UNROLL for (uint f = 0; f < FOURS; ++f) {
      float4 higher = top[f];
      UNROLL for (uint i = 0; i < KEYS / 16; ++i) higher = fmax(higher, powers[f * KEYS + i]);
      factor[f] = rescale(top[f], higher);
      top[f] = higher;
      result[f] *= factor[f];
    }
    local_barrier();
    UNROLL for (uint f = 0; f < FOURS; ++f) {
      if (slot == f) {
        // There is no maximum to take away while every score is -infinity.
        const float4 power = exp(score - (top[f] == -INFINITY ? (float4)(0) : top[f]));
        powers[t] = power;
        sums[t] = sums[t] * factor[f] + power;
      }
    }
    local_barrier();
    if (column < params.head_dim) {
      // With KEYS in its condition the loop is unrolled, into more registers than there are.
      const uint tile_end = min(key0 + KEYS, end);
      for (uint key = key0 + t / COLUMNS; key < tile_end; key += WALKERS) {
        const float x = (float)(v[base_v + key * params.v.seq + column]);
        UNROLL for (uint f = 0; f < FOURS; ++f) {
          const float4 more = fma(powers[f * KEYS + key - key0], (float4)(x), result[f]);
          // Some rows must not see this key; 0 * NaN would show it.
          result[f] = key < seen[f] ? more : result[f];
        }
      }
    }
  }
  local_barrier();
  UNROLL for (uint f = 0; f < FOURS; ++f) parts[f][t] = result[f];
  for (uint width = WALKERS / 2; width > 0; width /= 2) {
    local_barrier();
    if (t / COLUMNS < width) {
      UNROLL for (uint f = 0; f < FOURS; ++f) parts[f][t] += parts[f][t + width * COLUMNS];
    }
  }
  for (uint width = KEYS / 2; width > 0; width /= 2) {
    local_barrier();
    if (slot < FOURS && t % KEYS < width) sums[t] += sums[t + width];
  }
  local_barrier();
  UNROLL for (uint r = 0; r < ROWS; ++r) {
    if (r >= rows) break;
#if PIECES
    const uint row = matrix * params.sharing + first + r;
    if (t < params.head_dim) {
      o[(piece * params.rows + row) * params.head_dim + t] = parts[r / 4][t][r % 4];
    }
    if (t == 0) {
      tops_and_sums[piece * params.rows + row] =
          (float2)(top[r / 4][r % 4], sums[r / 4 * KEYS][r % 4]);
    }
#else
    const uint row = first + r;
    if (t < params.head_dim) {
      const uint of_row =
          row_start(params.o, batch, head0 + row / params.seq_q, row % params.seq_q);
      o[of_row + t] = (T)(parts[r / 4][t][r % 4] / sums[r / 4 * KEYS][r % 4]);
    }
#endif
  }
}
