// C = alpha * op(A) * op(B) + beta * C where C has at most FEW rows or columns: every element of
// the larger operand is read once and used FEW times.
// 0 the operand of the few, 1 the other, 2 c. `few` and `many` count rows and columns of C in the
// order that makes few the smaller; deep walks k.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// DEEP_FIRST (1: neighbours of the larger operand lie along k, LANES work-items walk it for two
// rows; 0: they lie along `many`, which LANES work-items divide, GROUP / LANES of them walk k);
// VECTOR (1: the walk along neighbours is in whole vectors of four); ROUND (see rounded.h);
// SUBGROUP (16: rows are read in blocks, where LANES are whole subgroups).
//! twin: subgroups of 16 read it by blocks on Intel's GPUs
//! FEW: 1 2 4
//! DEEP_FIRST: 0 1
//! VECTOR: 0 1
//! T: f32 f16
//! TC: f32 f16
//! only: T == "f16" or TC == "f32"
//! GROUP: 256
//! SUBGROUP: 0 16
//! only: SUBGROUP == 0 or (DEEP_FIRST and VECTOR)
//! LANES: constant
//! ROUND: constant
#include "items.h"
#include "rounded.h"
#include "subgroups.h"
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
#define AHEAD (FEW < 4 ? 4 : 2)

// A sum is one number with SUBGROUP, for the registers of Intel GPUs; a vector else, which others
// need not take apart.
#if SUBGROUP
#define SUM float
#define sum_of(x, y, sum) dot_plus(x, y, sum)
#define TOGETHER ROWS
#else
#define SUM WIDE
#define sum_of(x, y, sum) fma(x, y, sum)
#define TOGETHER (FEW < 4 ? ROWS : 1)
#endif

typedef struct {
  uint few, many, k, few_ld, few_step, many_ld, c_few, c_many, stride_few, stride_many, stride_c;
  uint pieces, piece, first;
  float alpha, beta;
} Params;

static inline void __attribute__((overloadable)) store(global TC* c, const Params* params, uint f,
                                                       uint at, float sum) {
  if (f >= params->few || at >= params->many) return;
  global TC* place = c + (f * params->c_few + at * params->c_many);
  float result = params->alpha * sum;
  if (params->beta != 0) result += params->beta * (float)*place;
  *place = (TC)result;
}

#if VECTOR && !DEEP_FIRST
static inline void __attribute__((overloadable)) store(global TC* c, const Params* params, uint f,
                                                       uint at, float4 sum) {
  UNROLLED(4, e, store(c, params, f, at + e, sum[e]);)
}
#endif

OF_SUBGROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1))) kernel void gemm_thin(
    global const FEW_ITEM* few, global const ITEM* many, global TC* c, const Params params) {
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
  few += (batch * params.stride_few + start * params.few_step) / FEW_WIDTH;
  // Places and no pointers: what Clang makes of constant indices into an array of these is wrong.
  uint of_few[FEW];
  UNROLL for (uint f = 0; f < FEW; ++f) {
    of_few[f] = min(f, params.few - 1) * params.few_ld / FEW_WIDTH;
  }
#if DEEP_FIRST
  local float partial[FEW][ROWS][GROUP];
  const uint at = (block * WALKERS + walker) * ROWS;
  const uint steps = depth / WIDTH;
  for (uint first = 0; first < ROWS; first += TOGETHER) {
    uint of_many[TOGETHER];
    UNROLL for (uint r = 0; r < TOGETHER; ++r) {
      const uint row = min(at + first + r, params.many - 1);
      of_many[r] = (batch * params.stride_many + row * params.many_ld + start) / WIDTH;
    }
    SUM sums[FEW][TOGETHER];
    UNROLL for (uint f = 0; f < FEW; ++f) {
      UNROLL for (uint r = 0; r < TOGETHER; ++r) sums[f][r] = 0;
    }
    uint i = lane;
#if SUBGROUP
    if (LANES >= SUBGROUP) {
      UNROLL for (uint r = 0; r < TOGETHER; ++r) of_many[r] = of_first(of_many[r]);
      uint begin = of_first(lane);
      for (; begin + SUBGROUP <= steps; begin += LANES) {
        WIDE y[TOGETHER];
        UNROLL for (uint r = 0; r < TOGETHER; ++r) {
          y[r] = rounded(load_block(many + of_many[r] + begin), ROUND);
        }
        UNROLLED(FEW, f, {
          const WIDE x = rounded(load_block(few + of_few[f] + begin), ROUND);
          UNROLLED(TOGETHER, r, sums[f][r] = sum_of(x, y[r], sums[f][r]);)
        })
      }
      i = begin + get_sub_group_local_id();
    }
#endif
    for (; i < steps; i += LANES) {
      WIDE y[TOGETHER];
      UNROLL for (uint r = 0; r < TOGETHER; ++r) y[r] =
          rounded(to_wide(many[of_many[r] + i]), ROUND);
      UNROLLED(FEW, f, {
        const WIDE x = rounded(to_wide(few[of_few[f] + i * few_step]), ROUND);
        UNROLLED(TOGETHER, r, sums[f][r] = sum_of(x, y[r], sums[f][r]);)
      })
    }
    UNROLL for (uint f = 0; f < FEW; ++f) {
      UNROLL for (uint r = 0; r < TOGETHER; ++r) {
        partial[f][first + r][local_id] = across(sums[f][r]);
      }
    }
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
  for (; i + (AHEAD - 1) * WALKERS < depth; i += AHEAD * WALKERS) {
    WIDE y[AHEAD];
    UNROLL for (uint u = 0; u < AHEAD; ++u) {
      const uint deep = start + i + u * WALKERS;
      y[u] = rounded(to_wide(many[(column + deep * params.many_ld) / WIDTH]), ROUND);
    }
    UNROLL for (uint u = 0; u < AHEAD; ++u) {
      UNROLL for (uint f = 0; f < FEW; ++f) {
        const WIDE x = rounded((float)few[of_few[f] + (i + u * WALKERS) * few_step], ROUND);
        sums[f] = fma(x, y[u], sums[f]);
      }
    }
  }
  for (; i < depth; i += WALKERS) {
    const uint deep = start + i;
    const WIDE y = rounded(to_wide(many[(column + deep * params.many_ld) / WIDTH]), ROUND);
    UNROLL for (uint f = 0; f < FEW; ++f) {
      const WIDE x = rounded((float)few[of_few[f] + i * few_step], ROUND);
      sums[f] = fma(x, y, sums[f]);
    }
  }
  UNROLLED(FEW, f, {
    local_barrier();
    partial[local_id] = sums[f];
    local_barrier();
    if (walker == 0) {
      WIDE sum = partial[lane];
      for (uint w = 1; w < WALKERS; ++w) sum += partial[lane + w * LANES];
      store(c, &params, f, at, sum);
    }
  })
#endif
}
