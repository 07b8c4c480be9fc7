// C = alpha * op(A) * op(B) + beta * C where C has at most FEW rows or columns: every element of
// the larger operand is read once and used FEW times.
// 0 the operand of the few, 1 the other, 2 c. `few` and `many` count rows and columns of C in the
// order that makes few the smaller; deep walks k.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// DEEP_FIRST (1: neighbours of the larger operand lie along k, LANES work-items walk it for two
// rows; 0: they lie along `many`, which LANES work-items divide, GROUP / LANES of them walk k);
// VECTOR (1: the walk along neighbours is in whole vectors of four); ROUND (see rounded.h).
//! FEW: 1 2 4
//! DEEP_FIRST: 0 1
//! VECTOR: 0 1
//! T: f32 f16
//! TC: f32 f16
//! only: T == "f16" or TC == "f32"
//! GROUP: 256
//! LANES: constant
//! ROUND: constant
#include "items.h"
#include "rounded.h"
#include "vectors.h"

#if DEEP_FIRST
#define FEW_ITEM ITEM
#define FEW_WIDTH WIDTH
#else
#define FEW_ITEM T
#define FEW_WIDTH 1
#endif
#define ROWS 2
#define WALKERS (GROUP / LANES)

typedef struct {
  uint few, many, k, few_ld, few_step, many_ld, c_few, c_many, stride_few, stride_many, stride_c;
  uint pieces, piece, first;
  float alpha, beta;
} Params;

static inline void store(global TC* c, const Params* params, uint f, uint at, float sum) {
  if (f >= params->few || at >= params->many) return;
  global TC* place = c + (f * params->c_few + at * params->c_many);
  float result = params->alpha * sum;
  if (params->beta != 0) result += params->beta * (float)*place;
  *place = (TC)result;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gemm_thin(global const FEW_ITEM* few, global const ITEM* many, global TC* c,
                      const Params params) {
  const uint block = get_group_id(0) + get_group_id(2) * get_num_groups(0);
  const uint product = params.first + get_group_id(1);
  const uint batch = product / params.pieces;
  const uint start = product % params.pieces * params.piece;
  const uint depth = min(params.k - min(start, params.k), params.piece);
  const uint local_id = get_local_id(0);
  const uint lane = local_id % LANES;
  const uint walker = local_id / LANES;
  const uint few_step = FEW_WIDTH == 1 ? params.few_step : 1;
  c += product * params.stride_c;
  global const FEW_ITEM* of_few[FEW];
  UNROLL for (uint f = 0; f < FEW; ++f) {
    const uint row = min(f, params.few - 1);
    of_few[f] = few + (batch * params.stride_few + row * params.few_ld +
                       start * params.few_step) / FEW_WIDTH;
  }
#if DEEP_FIRST
  local float partial[FEW][ROWS][GROUP];
  const uint at = (block * WALKERS + walker) * ROWS;
  global const ITEM* of_many[ROWS];
  UNROLL for (uint r = 0; r < ROWS; ++r) {
    const uint row = min(at + r, params.many - 1);
    of_many[r] = many + (batch * params.stride_many + row * params.many_ld + start) / WIDTH;
  }
  WIDE sums[FEW][ROWS];
  UNROLL for (uint f = 0; f < FEW; ++f) {
    UNROLL for (uint r = 0; r < ROWS; ++r) sums[f][r] = 0;
  }
#define TURNS (8 / FEW)
  const uint steps = depth / WIDTH;
  uint i = lane;
  for (; i + (TURNS - 1) * LANES < steps; i += TURNS * LANES) {
    WIDE y[TURNS][ROWS];
    UNROLL for (uint u = 0; u < TURNS; ++u) {
      UNROLL for (uint r = 0; r < ROWS; ++r) {
        y[u][r] = rounded(to_wide(of_many[r][i + u * LANES]), ROUND);
      }
    }
    UNROLL for (uint u = 0; u < TURNS; ++u) {
      UNROLL for (uint f = 0; f < FEW; ++f) {
        const WIDE x = rounded(to_wide(of_few[f][(i + u * LANES) * few_step]), ROUND);
        UNROLL for (uint r = 0; r < ROWS; ++r) sums[f][r] = fma(x, y[u][r], sums[f][r]);
      }
    }
  }
  for (; i < steps; i += LANES) {
    UNROLL for (uint r = 0; r < ROWS; ++r) {
      const WIDE y = rounded(to_wide(of_many[r][i]), ROUND);
      UNROLL for (uint f = 0; f < FEW; ++f) {
        sums[f][r] = fma(rounded(to_wide(of_few[f][i * few_step]), ROUND), y, sums[f][r]);
      }
    }
  }
  UNROLL for (uint f = 0; f < FEW; ++f) {
    UNROLL for (uint r = 0; r < ROWS; ++r) partial[f][r][local_id] = across(sums[f][r]);
  }
  for (uint width = LANES / 2; width > 0; width /= 2) {
    local_barrier();
    if (lane < width) {
      UNROLL for (uint f = 0; f < FEW; ++f) {
        UNROLL for (uint r = 0; r < ROWS; ++r) {
          partial[f][r][local_id] += partial[f][r][local_id + width];
        }
      }
    }
  }
  if (lane == 0) {
    UNROLL for (uint f = 0; f < FEW; ++f) {
      UNROLL for (uint r = 0; r < ROWS; ++r) {
        store(c, &params, f, at + r, partial[f][r][local_id]);
      }
    }
  }
#else
  local WIDE partial[GROUP];
  const uint at = (block * LANES + lane) * WIDTH;
  const uint column = batch * params.stride_many + min(at, params.many - WIDTH);
  WIDE sums[FEW];
  UNROLL for (uint f = 0; f < FEW; ++f) sums[f] = 0;
  uint i = walker;
  for (; i + 3 * WALKERS < depth; i += 4 * WALKERS) {
    WIDE y[4];
    UNROLL for (uint u = 0; u < 4; ++u) {
      const uint deep = start + i + u * WALKERS;
      y[u] = rounded(to_wide(many[(column + deep * params.many_ld) / WIDTH]), ROUND);
    }
    UNROLL for (uint u = 0; u < 4; ++u) {
      UNROLL for (uint f = 0; f < FEW; ++f) {
        const WIDE x = rounded((float)of_few[f][(i + u * WALKERS) * few_step], ROUND);
        sums[f] = fma(x, y[u], sums[f]);
      }
    }
  }
  for (; i < depth; i += WALKERS) {
    const uint deep = start + i;
    const WIDE y = rounded(to_wide(many[(column + deep * params.many_ld) / WIDTH]), ROUND);
    UNROLL for (uint f = 0; f < FEW; ++f) {
      const WIDE x = rounded((float)of_few[f][i * few_step], ROUND);
      sums[f] = fma(x, y, sums[f]);
    }
  }
  UNROLL for (uint f = 0; f < FEW; ++f) {
    local_barrier();
    partial[local_id] = sums[f];
    local_barrier();
    if (walker == 0) {
      WIDE sum = partial[lane];
      for (uint w = 1; w < WALKERS; ++w) sum += partial[lane + w * LANES];
#if VECTOR
      UNROLL for (uint e = 0; e < 4; ++e) store(c, &params, f, at + e, sum[e]);
#else
      store(c, &params, f, at, sum);
#endif
    }
  }
#endif
}
