// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, k in steps of BK.
// 0 a, 1 b, 2 c.
// Teams of LANES work-items lie along n: a team has ROWS rows of C, of which each of its work-items
// has every LANES-th element, COLUMNS of them. How it comes by A and B is in gemm_blocks.h where it
// is a subgroup, else in gemm_tiles.h. Where k is no multiple of BK the first step is the short
// one, and the last tiles of m and n are moved back to end where the matrix does, with what others
// store left out. k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: BM BN BK; T, TC; TA TB (1: stored transposed); SMALL (1: C is smaller than a tile,
// whose loads then stay inside; not with SUBGROUP); ROUND (of a and b, see rounded.h).
//! twin: subgroups of 16 read it by blocks on Intel's GPUs
//! BM: 16 32 64 128
//! BN: 32 64 128
//! only: (BM, BN) not in ((16, 32), (16, 64), (64, 32), (128, 64))
//! BK: 16
//! T: f32 f16
//! TC: f32 f16
//! only: T == "f16" or TC == "f32"
//! SUBGROUP: 0 16
//! TB: 0 1
//! TA: constant
//! SMALL: constant
//! ROUND: constant
//! ignored: TM TN SLICES VECTOR_A VECTOR_B VECTOR_C PAD END ACTIVATION
#include "rounded.h"
#include "subgroups.h"

#if SUBGROUP
#undef SMALL
#define SMALL 0
#endif
#define LANES BK
#define ROWS 8
#if SUBGROUP && BN > 32
#define COLUMNS 4
#else
#define COLUMNS 2
#endif
// A tile that is too large for the 256 work-items of a group is made in parts.
#define MOST (256 * ROWS * COLUMNS)
#define PARTS ((BM * BN + MOST - 1) / MOST)
#define PART (BM / PARTS)
#define ACROSS (BN / (LANES * COLUMNS))
#define TEAMS (ACROSS * PART / ROWS)
#define ROWS_OF(team) ((team) / ACROSS * ROWS)
#define COLUMNS_OF(team) ((team) % ACROSS * (LANES * COLUMNS))

typedef struct {
  uint m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  uint tiles_m, tiles_n, pieces, piece, first, whole_tiles;
  float alpha, beta;
} Params;

/// What a workgroup computes at a time: from row `top` and column `left` of C on, of k `depth` from
/// `start` on.
typedef struct {
  uint top, left, start, depth;
} Place;

// Where a work-item is. With SUBGROUP anew wherever it is asked for: what follows from it is then
// not kept in registers from before the products until after them.
#if SUBGROUP
uint CONVERGENT intel_sub_group_shuffle_xor(uint value, uint mask);
#define TEAM sub_group_broadcast((uint)get_local_id(1), 0)
#define LANE (intel_sub_group_shuffle_xor((uint)get_local_id(0), 1) ^ 1)
#else
#define TEAM ((uint)get_local_id(1))
#define LANE get_local_id(0)
#endif

#if SUBGROUP
#include "gemm_blocks.h"
#else
#include "gemm_tiles.h"
#endif

OF_SUBGROUPS __attribute__((reqd_work_group_size(LANES, TEAMS, 1)))
kernel void gemm(global const T* a, global const T* b, global TC* c, const Params params) {
#ifdef SHARED_FLOATS
  local float shared[SHARED_FLOATS];
#else
  local float* const shared = 0;
#endif
  const uint tile = get_group_id(0) + get_group_id(2) * get_num_groups(0);
  const bool inside = tile < params.tiles_m * params.tiles_n;
  const uint product = params.first + get_group_id(1);
  const uint batch = product / params.pieces;
  const uint start = product % params.pieces * params.piece;
  const uint depth = inside ? min(params.k - min(start, params.k), params.piece) : 0;
  const uint first_col = tile % params.tiles_n * BN;
  const bool stays = SMALL || (params.whole_tiles & 2) != 0;
  const uint left = stays ? first_col : min(first_col, params.n - BN);
  a += (size_t)batch * params.stride_a;
  b += (size_t)batch * params.stride_b;
  c += (size_t)product * params.stride_c;

  for (uint part = 0; part < PARTS; ++part) {
    const uint first_row = tile / params.tiles_n * BM + part * PART;
    const bool stays_down = SMALL || (params.whole_tiles & 1) != 0;
    const uint top = stays_down ? first_row : min(first_row, params.m - PART);
    const Place at = {top, left, start, depth};
    Sums sums[ROWS] = {};
    if (part > 0) local_barrier();
    multiply(sums, shared, a, b, &params, at);
    const size_t lane = LANE;
    const uint team = TEAM;
    const uint rows = ROWS_OF(team);
    const uint columns = COLUMNS_OF(team);
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      const uint row = top + rows + i;
      if (inside && row >= first_row && row < params.m) {
        global TC* line = c + (size_t)row * params.ldc + left + columns;
        UNROLL for (uint j = 0; j < COLUMNS; ++j) {
          const size_t along = j * LANES + lane;
          const uint column = left + columns + along;
          if (column >= first_col && column < params.n) {
            float result = params.alpha * sums[i][j];
            if (params.beta != 0) result += params.beta * (float)line[along];
            line[along] = (TC)result;
          }
        }
      }
    }
  }
}
