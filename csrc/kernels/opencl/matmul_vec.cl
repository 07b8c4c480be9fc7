// out[h, row] = factor * matrix[h / share, row, :] . vector[h, :]: LANES work-items a row; h counts
// heads, `share` of them on one matrix.
// 0 matrix, 1 vector, 2 out.
// LANES is a power of two up to GROUP. VECTOR: rows are whole vectors of four. STRIDED: rows lie by
// strides, in what is read at a time, those of the result in elements.
//! twin: subgroups of 16 read it by blocks on Intel's GPUs
//! T: f32 f16
//! VECTOR: 0 1
//! GROUP: 256
//! STRIDED: 0 1
//! SUBGROUP: 0 16
//! only: SUBGROUP == 0 or VECTOR
//! LANES: constant
#include "items.h"
#include "subgroups.h"
#include "join.h"
#include "vectors.h"

#define WALKERS LANES
#define IN_BLOCKS (SUBGROUP > 0 && LANES >= SUBGROUP)
#define plus(x, y) ((x) + (y))
JOIN_OF_WALKERS(join, plus)
typedef struct {
  uint rows, cols, heads, share;
  float factor;
#if STRIDED
  uint matrix_start, matrix_stride, row_stride, vector_start, vector_stride;
  uint result_start, result_stride;
#endif
} Params;

OF_SUBGROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void matmul_vec(global const ITEM* matrix, global const ITEM* vector, global T* result,
                       const Params params) {
  local float held[GROUP];
  const uint item = get_local_id(0);
  const uint lane = item % LANES;
  const uint index = group_index() * (GROUP / LANES) + item / LANES;
  const uint head = index / params.rows;
  const bool inside = index < params.rows * params.heads;
  const uint row_size = params.cols / WIDTH;
  const uint cols = inside ? row_size : 0;
#if STRIDED
  const uint base = params.matrix_start + head / params.share * params.matrix_stride +
                    index % params.rows * params.row_stride;
  const uint base_v = params.vector_start + head * params.vector_stride;
#else
  const uint base = ((head / params.share) * params.rows + index % params.rows) * row_size;
  const uint base_v = head * row_size;
#endif
  WIDE sums[4] = {0, 0, 0, 0};
  uint i = lane;
#if SUBGROUP
  if (IN_BLOCKS) {
    global const ITEM* matrix_blocks = matrix + of_first(base);
    global const ITEM* vector_blocks = vector + of_first(base_v);
    const uint end = of_first(cols);
    uint at = of_first(lane);
    for (; at + 3 * LANES + SUBGROUP <= end; at += 4 * LANES) {
      UNROLL for (uint e = 0; e < 4; ++e) {
        sums[e] = fma(load_block(matrix_blocks + at + e * LANES),
                      load_block(vector_blocks + at + e * LANES), sums[e]);
      }
    }
    i = at + get_sub_group_local_id();
  }
#endif
#if !STRIDED  // for which there are no registers
  for (; !IN_BLOCKS && i + 3 * LANES < cols; i += 4 * LANES) {
    UNROLL for (uint e = 0; e < 4; ++e) {
      const uint at = i + e * LANES;
      sums[e] = fma(to_wide(matrix[base + at]), to_wide(vector[base_v + at]), sums[e]);
    }
  }
#endif
  for (; i < cols; i += LANES) {
    sums[0] = fma(to_wide(matrix[base + i]), to_wide(vector[base_v + i]), sums[0]);
  }
  const float sum = across((sums[0] + sums[1]) + (sums[2] + sums[3]));
  const float product = join(held, sum, item - lane, lane);
#if STRIDED
  const uint to = params.result_start + head * params.result_stride + index % params.rows;
#else
  const uint to = index;
#endif
  if (lane == 0 && inside) result[to] = (T)(product * params.factor);
}
