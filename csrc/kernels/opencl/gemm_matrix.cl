// C = alpha * A * B + beta * C on matrix units (DPAS), batched: BM x BN of C a workgroup, WM x WN of
// it a subgroup. A and B are as matrix_pack.wgsl lays them out: blocks of 8 rows or LANES columns by 32
// bytes of k, one after another along k, with zeros up to whole tiles.
// 0 a, 1 b, 2 c.
// A step along k reads a block for every 8 rows of A and every LANES columns of B; the subgroups of a
// workgroup find what they share in the same cache. k may be cut in `pieces`: the product of each is a
// matrix of its own in c.
// Variables: BM BN WM WN; LANES; T (f16, i8, u8), TC (f32 or f16 of float16, i32 of bytes).
//! twin: DPAS, which takes whole blocks that are laid out before
//! BM: 32 64 128
//! BN: 32 64 128
//! WM: 16 32 64
//! WN: 16 32
//! only: (BM, BN, WM, WN) in ((32, 32, 16, 16), (32, 128, 32, 32), (64, 64, 32, 32), (128, 64, 64, 32))
//! LANES: 8 16
//! only: LANES == 16 or WM < 64
//! T: f16 i8 u8
//! TC: f32 f16 i32
//! only: (TC == "i32") == (T != "f16")
//! ignored: BK UM UN UK TA TB VECTOR_C ADDED SCALED END GATED ACTIVATION
#include "matrix_units.h"

#if T_IS_f16
#define PER 2
#else
#define PER 4
typedef int i32;
#endif

// A subgroup has half as many columns where a register holds half as much.
#define WIDTH (WN * LANES / 16)
#define ROWS (WM / 8)
#define COLUMNS (WIDTH / LANES)
#define ACROSS (BN / WIDTH)
#define TEAMS (BM / WM * ACROSS)

typedef struct {
  uint m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  uint tiles_m, tiles_n, pieces, piece, first;
  float alpha, beta;
} Params;

static inline void store(global TC* to, Sum sum, const Params* params) {
#if T_IS_f16
  float result = params->alpha * sum;
  if (params->beta != 0) result += params->beta * (float)*to;
  *to = (TC)result;
#else
  *to = (int)((uint)sum + (params->beta != 0 ? (uint)*to : 0));
#endif
}

__attribute__((intel_reqd_sub_group_size(LANES), reqd_work_group_size(LANES, TEAMS, 1)))
kernel void gemm_matrix(global const uint* a, global const uint* b, global TC* c,
                        const Params params) {
  const uint tile = get_group_id(0) + get_group_id(2) * get_num_groups(0);
  if (tile >= params.tiles_m * params.tiles_n) return;
  const uint product = params.first + get_group_id(1);
  const uint batch = product / params.pieces;
  const uint start = min(product % params.pieces * params.piece, params.k);
  const uint end = min(start + params.piece, params.k);
  const uint team = sub_group_broadcast((uint)get_local_id(1), 0);
  const uint top = tile / params.tiles_n * BM + team / ACROSS * WM;
  const uint left = tile % params.tiles_n * BN + team % ACROSS * WIDTH;
  // lda and ldb are words of a row of blocks.
  global const uint* from_a =
      a + (size_t)batch * params.stride_a + (size_t)(top / 8) * params.lda + start / PER * 8;
  global const uint* from_b =
      b + (size_t)batch * params.stride_b + (size_t)(left / LANES) * params.ldb + start / PER * LANES;
  Sums sums[ROWS][COLUMNS] = {};
  for (uint k = start; k < end; k += 8 * PER) {
    ColumnsOfB y[COLUMNS];
    UNROLLED(COLUMNS, j, y[j] = read_columns(from_b + j * params.ldb);)
    UNROLLED(ROWS, i, {
      const RowsOfA x = read_rows(from_a + i * params.lda);
      UNROLLED(COLUMNS, j, sums[i][j] = MULTIPLY_ADD(x, y[j], sums[i][j]);)
    })
    from_a += 8 * 8;
    from_b += 8 * LANES;
  }
  const uint lane = get_local_id(0);
  c += (size_t)product * params.stride_c;
  UNROLLED(ROWS, i, {
    UNROLLED(COLUMNS, j, {
      const uint column = left + j * LANES + lane;
      UNROLLED(8, r, {
        const uint row = top + i * 8 + r;
        if (row < params.m && column < params.n) {
          store(c + (size_t)row * params.ldc + column, sums[i][j][r], &params);
        }
      })
    })
  })
}
