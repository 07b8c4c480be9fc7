// Reduces pieces of the middle axis of [outer, length, inner]: output[piece * outer * inner +
// column]. A workgroup has one piece of GROUP / WALKERS neighbours, single columns or with VECTOR
// four columns each; its walkers share out the piece, and read DEPTH of it before they use the
// first.
// 0 input, 1 output.
// T is the type of the input, TO of the output. VECTOR: inner is whole vectors of four.
//! T: f32 f16
//! TO: f32 f16
//! OP: sum max min
//! VECTOR: 0 1
//! DEPTH: 4
//! GROUP: 256
//! WALKERS: constant
#include "combine.h"
#include "items.h"
#include "vectors.h"

typedef struct { uint columns, length, inner, pieces, piece; float factor; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void reduce_columns(global const ITEM* input, global TO* output, const Params params) {
  local WIDE partial[GROUP];
  const uint item = get_local_id(0);
  const uint columns_of_group = GROUP / WALKERS;
  const uint columns = params.columns / WIDTH;
  const uint inner = params.inner / WIDTH;
  const uint blocks = (columns + columns_of_group - 1) / columns_of_group;
  const uint column = group_index() % blocks * columns_of_group + item % columns_of_group;
  const uint piece = group_index() / blocks;
  const uint walker = item / columns_of_group;
  const bool inside = column < columns && piece < params.pieces;
  const uint start = piece * params.piece;
  const uint end = inside ? min(start + params.piece, params.length) : 0;
  const uint base = (column / inner) * params.length * inner + column % inner;
  WIDE results[DEPTH];
  UNROLL for (uint d = 0; d < DEPTH; ++d) results[d] = NEUTRAL;
  uint i = start + walker;
  for (; i + (DEPTH - 1) * WALKERS < end; i += DEPTH * WALKERS) {
    WIDE x[DEPTH];
    UNROLL for (uint d = 0; d < DEPTH; ++d) x[d] = to_wide(input[base + (i + d * WALKERS) * inner]);
    UNROLL for (uint d = 0; d < DEPTH; ++d) results[d] = combine(results[d], x[d]);
  }
  for (; i < end; i += WALKERS) {
    results[0] = combine(results[0], to_wide(input[base + i * inner]));
  }
  UNROLL for (uint d = 1; d < DEPTH; ++d) results[0] = combine(results[0], results[d]);
  partial[item] = results[0];
  local_barrier();
  if (walker > 0 || !inside) return;
  for (uint w = 1; w < WALKERS; ++w) {
    results[0] = combine(results[0], partial[item + w * columns_of_group]);
  }
  const WIDE result = results[0] * params.factor;
#if VECTOR
  store_four(output, piece * columns + column, result);
#else
  output[piece * columns + column] = (TO)result;
#endif
}
