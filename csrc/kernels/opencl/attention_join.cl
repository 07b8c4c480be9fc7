// The pieces of attention_rows.cl joined, one element of o a work-item.
// 0 sums by piece, 1 the maximum and the sum of each piece, 2 o.
//! T: f32 f16
//! GROUP: 256
#include "running_softmax.h"

typedef struct { uint n, rows, head_dim, pieces, zero; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void attention_join(global const float* sums_of_pieces, global const float2* tops_and_sums,
                           global T* o, const Params params) {
  const uint i = item_index(GROUP);
  if (i >= params.n) return;
  const uint row = i / params.head_dim;
  float top = -INFINITY;
  for (uint piece = 0; piece < params.pieces; ++piece) {
    top = larger(tops_and_sums[piece * params.rows + row].x, top);
  }
  float sum = 0;
  float result = 0;
  for (uint piece = 0; piece < params.pieces; ++piece) {
    const float2 of_piece = tops_and_sums[piece * params.rows + row];
    const float factor = rescale(of_piece.x, top);
    sum = fma(of_piece.y, factor, sum);
    result = fma(sums_of_pieces[piece * params.n + i], factor, result);
  }
  o[i] = (T)(result / sum);
}
