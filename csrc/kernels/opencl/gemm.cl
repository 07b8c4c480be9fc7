// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, k in steps of BK.
// 0 a, 1 b, 2 c.
// Sixteen neighbouring work-items lie along n and share ROWS rows of C, of which each has every
// sixteenth element of COLUMNS * 16. Tiles of A and B lie in workgroup memory: B's k by k, A's as
// it is stored. Where k is no multiple of BK the first tile is the short one, filled up with zeros,
// and the last tiles of m and n are moved back to end where the matrix does, with what others store
// left out.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: BM BN BK; T, TC; TA TB (1: stored transposed); SMALL (1: C is smaller than a tile,
// whose loads then stay inside by reading the last row or column again); ROUND (of a and b, see
// rounded.h).
//! BM: 16 32 64 128
//! BN: 32 64 128
//! only: (BM, BN) in ((32, 32), (16, 128), (32, 64), (32, 128), (128, 32), (64, 64), (64, 128), (128, 128))
//! BK: 16
//! T: f32 f16
//! TC: f32 f16
//! only: T == "f16" or TC == "f32"
//! TA: constant
//! TB: constant
//! SMALL: constant
//! ROUND: constant
//! ignored: TM TN VECTOR_A VECTOR_B VECTOR_C BUFFERS PAD
#include "rounded.h"

#define LANES 16
#if BM * BN >= 8192
#define ROWS 16
#else
#define ROWS 8
#endif
#define COLUMNS 2
#define ACROSS (BN / (LANES * COLUMNS))
#define DOWN (BM / ROWS)
#define THREADS (LANES * ACROSS * DOWN)
// Rows of tiles that are stored across k; odd, so that neighbours lie in other banks.
#define PITCH (BK + 1)

typedef struct {
  uint m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  uint tiles_m, tiles_n, pieces, piece, first;
  float alpha, beta;
} Params;

__attribute__((reqd_work_group_size(THREADS, 1, 1)))
kernel void gemm(global const T* a, global const T* b, global TC* c, const Params params) {
  local float tile_a[BM * PITCH];
  local float tile_b[BK * BN];
  const uint tile = get_group_id(0) + get_group_id(2) * get_num_groups(0);
  if (tile >= params.tiles_m * params.tiles_n) return;
  const uint first_row = tile / params.tiles_n * BM;
  const uint first_col = tile % params.tiles_n * BN;
  const uint top = SMALL ? first_row : min(first_row, params.m - BM);
  const uint left = SMALL ? first_col : min(first_col, params.n - BN);
  const uint product = params.first + get_group_id(1);
  const uint batch = product / params.pieces;
  const uint start = product % params.pieces * params.piece;
  const uint depth = min(params.k - min(start, params.k), params.piece);
  const uint t = get_local_id(0);
  const uint lane = t % LANES;
  const uint rows = t / LANES / ACROSS * ROWS;
  const uint columns = t / LANES % ACROSS * LANES * COLUMNS;
  a += batch * params.stride_a;
  b += batch * params.stride_b;
  float sums[ROWS][COLUMNS] = {};
  const uint steps = (depth + BK - 1) / BK;
  uint deep = start;
  uint length = depth - (max(steps, 1u) - 1) * BK;
  const uint row_step = TA ? 1 : PITCH;
  const uint deep_step = TA ? BM : 1;
  for (uint step = 0; step < steps; ++step) {
#pragma unroll
    for (uint i = 0; i < BM * BK; i += THREADS) {
      const uint at = i + t;
      const uint row = TA ? at % BM : at / BK;
      const uint k = TA ? at / BM : at % BK;
      const uint place = SMALL ? min(top + row, params.m - 1) : top + row;
      float value = 0;
      if (k < length) value = a[TA ? (deep + k) * params.lda + place : place * params.lda + deep + k];
      tile_a[row * row_step + k * deep_step] = rounded(value, ROUND);
    }
#pragma unroll
    for (uint i = 0; i < BN * BK; i += THREADS) {
      const uint at = i + t;
      const uint column = TB ? at / BK : at % BN;
      const uint k = TB ? at % BK : at / BN;
      const uint place = SMALL ? min(left + column, params.n - 1) : left + column;
      float value = 0;
      if (k < length) value = b[TB ? place * params.ldb + deep + k : (deep + k) * params.ldb + place];
      tile_b[k * BN + column] = rounded(value, ROUND);
    }
    local_barrier();
#pragma unroll
    for (uint k = 0; k < BK; ++k) {
      float y[COLUMNS];
#pragma unroll
      for (uint j = 0; j < COLUMNS; ++j) y[j] = tile_b[k * BN + columns + j * LANES + lane];
#pragma unroll
      for (uint i = 0; i < ROWS; ++i) {
        const float x = tile_a[(rows + i) * row_step + k * deep_step];
#pragma unroll
        for (uint j = 0; j < COLUMNS; ++j) sums[i][j] = fma(x, y[j], sums[i][j]);
      }
    }
    local_barrier();
    deep += length;
    length = BK;
  }
  c += product * params.stride_c;
#pragma unroll
  for (uint i = 0; i < ROWS; ++i) {
    const uint row = top + rows + i;
    if (row >= first_row && row < params.m) {
#pragma unroll
      for (uint j = 0; j < COLUMNS; ++j) {
        const uint column = left + columns + j * LANES + lane;
        if (column >= first_col && column < params.n) {
          global TC* to = c + row * params.ldc + column;
          float result = params.alpha * sums[i][j];
          if (params.beta != 0) result += params.beta * (float)*to;
          *to = (TC)result;
        }
      }
    }
  }
}
