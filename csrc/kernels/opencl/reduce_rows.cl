// Reduces pieces of rows: output[row * pieces + piece] from input[row * length + ...], GROUP /
// WALKERS pieces a workgroup. Each work-item reads DEPTH vectors of four before it uses the first.
// 0 input, 1 output.
// T is the type of the input, TO of the output. VECTOR: rows and pieces are whole vectors of four.
//! twin: subgroups of 16 read it by blocks on Intel's GPUs
//! T: f32 f16
//! TO: f32 f16
//! OP: sum max min
//! VECTOR: 0 1
//! SUBGROUP: 0 16
//! only: SUBGROUP == 0 or VECTOR
//! DEPTH: 4
//! GROUP: 256
//! WALKERS: constant
#include "combine.h"
#include "items.h"
#include "subgroups.h"
#include "join.h"
#include "vectors.h"

typedef struct { uint rows, length, pieces, piece; float factor; } Params;

JOIN_OF_WALKERS(join, combine)

/// Four elements, of which the first is at i and the others WALKERS apart if not side by side.
static inline float4 loaded(global const ITEM* input, uint i) {
#if VECTOR
  return to_wide(input[i]);
#else
  return (float4)((float)input[i], (float)input[i + WALKERS], (float)input[i + 2 * WALKERS],
                  (float)input[i + 3 * WALKERS]);
#endif
}

OF_SUBGROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void reduce_rows(global const ITEM* input, global TO* output, const Params params) {
  local float held[GROUP];
  const uint item = get_local_id(0);
  const uint walker = item % WALKERS;
  const uint index = group_index() * (GROUP / WALKERS) + item / WALKERS;
  const uint row = index / params.pieces;
  const uint start = (index % params.pieces) * params.piece;
  const uint base = (row * params.length + start) / WIDTH;
  const bool inside = row < params.rows;
  const uint count = inside ? (min(start + params.piece, params.length) - start) / WIDTH : 0;
  const uint step = WALKERS * 4 / WIDTH;
  float4 results[DEPTH];
  UNROLL for (uint d = 0; d < DEPTH; ++d) results[d] = NEUTRAL;
  uint i = walker;
#if SUBGROUP
  if (WALKERS >= SUBGROUP) {
    global const ITEM* blocks = input + of_first(base);
    const uint end = of_first(count);
    uint at = of_first(walker);
    for (; at + (DEPTH - 1) * WALKERS + SUBGROUP <= end; at += DEPTH * WALKERS) {
      UNROLL for (uint d = 0; d < DEPTH; ++d) {
        results[d] = combine(results[d], load_block(blocks + at + d * WALKERS));
      }
    }
    i = at + get_sub_group_local_id();
  } else
#endif
  for (; i + DEPTH * step - WALKERS < count; i += DEPTH * step) {
    float4 x[DEPTH];
    UNROLL for (uint d = 0; d < DEPTH; ++d) x[d] = loaded(input, base + i + d * step);
    UNROLL for (uint d = 0; d < DEPTH; ++d) results[d] = combine(results[d], x[d]);
  }
  // The rest of the piece, less than DEPTH vectors of each work-item.
  for (; i < count; i += WALKERS) {
#if VECTOR
    results[0] = combine(results[0], to_wide(input[base + i]));
#else
    results[0].x = combine(results[0].x, (float)input[base + i]);
#endif
  }
  UNROLL for (uint d = 1; d < DEPTH; ++d) results[0] = combine(results[0], results[d]);
  const float result = join(held, combine_lanes(results[0]), item - walker, walker);
  if (walker == 0 && inside) output[index] = (TO)(result * params.factor);
}
