// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, k in steps of BK.
// 0 a, 1 b, 2 c.
// Teams of LANES work-items lie along n: a team has ROWS rows of C, of which each of its work-items
// has every LANES-th element, COLUMNS of them. Tiles of A (by rows) and of B (k by k) lie in
// workgroup memory. Where k is no multiple of BK the first step is the short one, filled up with
// zeros, and the last tiles of m and n are moved back to end where the matrix does, with what
// others store left out.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: BM BN BK; T, TC; TA TB (1: stored transposed); SMALL (1: C is smaller than a tile,
// whose loads then stay inside by reading the last row or column again); ROUND (of a and b, see
// rounded.h); SUBGROUP (a team is a subgroup, whose work-items each read one of LANES elements of a
// row of A and show it to the others).
//! BM: 16 32 64 128
//! BN: 32 64 128
//! only: (BM, BN) not in ((16, 32), (16, 64), (64, 32), (128, 64))
//! BK: 16
//! T: f32 f16
//! TC: f32 f16
//! only: T == "f16" or TC == "f32"
//! SUBGROUP: 0 16
//! TA: constant
//! TB: constant
//! SMALL: constant
//! ROUND: constant
//! ignored: TM TN SLICES VECTOR_A VECTOR_B VECTOR_C PAD
#include "rounded.h"

#define LANES BK
#define ROWS 8
#define COLUMNS 2
// A tile that is too large for the 256 work-items of a group is made in parts.
#define PARTS ((BM * BN + 4095) / 4096)
#define PART (BM / PARTS)
#define ACROSS (BN / (LANES * COLUMNS))
#define TEAMS (ACROSS * PART / ROWS)
// Odd, so that neighbours along the other dimension lie in other banks.
#define PITCH_A (BK + 1)
#define PITCH_B (BN + 1)

#if SUBGROUP
// Compilers do not see that it is the same in all work-items of a team.
#define TEAM sub_group_broadcast((uint)get_local_id(1), 0)
#else
#define TEAM ((uint)get_local_id(1))
#endif

typedef struct {
  uint m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  uint tiles_m, tiles_n, pieces, piece, first;
  float alpha, beta;
} Params;

/// A tile of an operand: `width` rows of A or columns of B from `first` on, of `extent`; `length`
/// of k from `deep` on. It goes to to[along * along_step + k * deep_step].
static inline void read_tile(local float* to, uint along_step, uint deep_step,
                             global const T* from, uint ld, bool deep_first, uint width,
                             uint first, uint extent, uint deep, uint length) {
  const size_t lane = get_local_id(0);
  const uint team = TEAM;
  if (deep_first) {
    for (uint along = team; along < width; along += TEAMS) {
      const uint place = SMALL ? min(first + along, extent - 1) : first + along;
      global const T* line = from + (size_t)place * ld + deep;
      const float value = lane < length ? (float)line[lane] : 0;
      to[along * along_step + lane * deep_step] = rounded(value, ROUND);
    }
  } else {
    for (uint i = team; i < BK * width / LANES; i += TEAMS) {
      const uint k = i / (width / LANES);
      const size_t along = i % (width / LANES) * LANES + lane;
      global const T* line = from + (size_t)(deep + k) * ld;
      float value = 0;
      if (k < length) {
        value = line[SMALL ? min(first + (uint)along, extent - 1) : first + along];
      }
      to[along * along_step + k * deep_step] = rounded(value, ROUND);
    }
  }
}

#if SUBGROUP
__attribute__((intel_reqd_sub_group_size(SUBGROUP)))
#endif
__attribute__((reqd_work_group_size(LANES, TEAMS, 1)))
kernel void gemm(global const T* a, global const T* b, global TC* c, const Params params) {
  local float tiles_a[2][PART * PITCH_A];
  local float tiles_b[2][BK * PITCH_B];
  const uint tile = get_group_id(0) + get_group_id(2) * get_num_groups(0);
  const bool inside = tile < params.tiles_m * params.tiles_n;
  const uint product = params.first + get_group_id(1);
  const uint batch = product / params.pieces;
  const uint start = product % params.pieces * params.piece;
  const uint depth = inside ? min(params.k - min(start, params.k), params.piece) : 0;
  const uint steps = (depth + BK - 1) / BK;
  const size_t lane = get_local_id(0);
  const uint rows = TEAM / ACROSS * ROWS;
  const uint columns = TEAM % ACROSS * LANES * COLUMNS;
  const uint first_col = tile % params.tiles_n * BN;
  const uint left = SMALL ? first_col : min(first_col, params.n - BN);
  a += (size_t)batch * params.stride_a;
  b += (size_t)batch * params.stride_b;
  c += (size_t)product * params.stride_c;

  for (uint part = 0; part < PARTS; ++part) {
    const uint first_row = tile / params.tiles_n * BM + part * PART;
    const uint top = SMALL ? first_row : min(first_row, params.m - PART);
    float sums[ROWS][COLUMNS] = {};
    uint deep = start;
    uint length = depth - max(steps, 1u) * BK + BK;
    if (part > 0) local_barrier();
    // The two tiles in turn, so that one barrier a step will do.
    for (uint step = 0; step < steps; ++step) {
      local float* tile_a = tiles_a[step % 2];
      local float* tile_b = tiles_b[step % 2];
      read_tile(tile_a, PITCH_A, 1, a, params.lda, !TA, PART, top, params.m, deep, length);
      read_tile(tile_b, 1, PITCH_B, b, params.ldb, TB, BN, left, params.n, deep, length);
      local_barrier();
      local const float* of_a = tile_a + rows * PITCH_A + (SUBGROUP ? lane : 0);
      local const float* of_b = tile_b + columns + lane;
#if SUBGROUP
      float own[ROWS];
      UNROLL for (uint i = 0; i < ROWS; ++i) own[i] = of_a[i * PITCH_A];
#define ROW_OF_A(i, k) sub_group_broadcast(own[i], k)
#else
#define ROW_OF_A(i, k) of_a[(i) * PITCH_A + (k)]
#endif
      // Written out: no compiler unrolls so much by itself.
#define MULTIPLY(k)                                                                        \
  {                                                                                        \
    float y[COLUMNS];                                                                      \
    UNROLL for (uint j = 0; j < COLUMNS; ++j) y[j] = of_b[(k) * PITCH_B + j * LANES];      \
    UNROLL for (uint i = 0; i < ROWS; ++i) {                                               \
      const float x = ROW_OF_A(i, k);                                                      \
      UNROLL for (uint j = 0; j < COLUMNS; ++j) sums[i][j] = fma(x, y[j], sums[i][j]);     \
    }                                                                                      \
  }
#define MULTIPLY_4(k) MULTIPLY(k) MULTIPLY(k + 1) MULTIPLY(k + 2) MULTIPLY(k + 3)
      MULTIPLY_4(0) MULTIPLY_4(4) MULTIPLY_4(8) MULTIPLY_4(12)
      deep += length;
      length = BK;
    }
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
