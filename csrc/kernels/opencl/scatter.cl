// output[row] = source[winners[row] - 1] for rows that have a winner, one element a work-item.
// 0 source, 1 winners, 2 output.
// VECTOR: rows are whole vectors of four, which are the elements, also in params.
//! T: f32 f16
//! VECTOR: 0 1
//! GROUP: 256
#include "items.h"

typedef struct { uint n, row_size; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scatter(global const ITEM* source, global const uint* winners, global ITEM* output,
                    const Params params) {
  const uint i = item_index(GROUP);
  if (i >= params.n) return;
  const uint winner = winners[i / params.row_size];
  if (winner != 0) output[i] = source[(winner - 1) * params.row_size + i % params.row_size];
}
