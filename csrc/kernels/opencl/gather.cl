// output[i] = table[indices[i]] by rows, one element a work-item; NaN for an index outside the
// table.
// 0 table, 1 indices, 2 output.
// VECTOR: rows are whole vectors of four, which are the elements, also in params.
//! T: f32 f16
//! VECTOR: 0 1
//! GROUP: 256
#include "items.h"

typedef struct { uint n, row_size, table_rows, not_a_number; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gather(global const ITEM* table, global const uint* indices, global ITEM* output,
                   const Params params) {
  const uint i = item_index(GROUP);
  if (i >= params.n) return;
  // A negative index is a large one here.
  const uint row = indices[i / params.row_size];
  if (row < params.table_rows) {
    output[i] = table[row * params.row_size + i % params.row_size];
  } else {
    output[i] = (ITEM)(T)as_float(params.not_a_number);
  }
}
