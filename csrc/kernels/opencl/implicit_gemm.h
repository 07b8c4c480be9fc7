// A matrix product whose operands are found by index arithmetic, for the kernels of conv2d:
// out[row, col] = sum over deep of a[row, deep] * b[deep, col], in each group of channels. col and
// deep are numbers of three digits, such as (image, y, x) or (channel, y, x).
// Before this file: Operands, the bindings; after it the functions that are declared below, and the
// kernel, of GROUP_X x GROUP_Y work-items, which calls implicit_gemm.
// Variables: DIRECT (1: LANES work-items an output, for few rows; 0: a BM x BN tile a workgroup
// with TM x TN of it a work-item, deep in steps of BK), B_DEEP (1: neighbours of b lie along deep).
typedef struct {
  uint m, n, k;
  uint pieces, piece;                 // of deep; each leaves a result of its own
  uint tiles_n, first;                // the first (group, piece) of this launch
  uint col_y, col_z, deep_y, deep_z;  // sizes of the lower digits
  uint filters, channels;             // of one group
  uint groups;
  uint height, width, filter_height, filter_width, out_height, out_width;
  uint stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  float slope;  // of activation.h
  uint zero;
} Params;

static inline float load_a(Operands x, Params params, uint group, uint row, uint3 deep);
static inline float load_b(Operands x, Params params, uint group, uint3 deep, uint3 col);
/// Where an element is stored: the place of its row, plus that of its column. col is the number.
static inline uint row_place(Params params, uint group, uint piece, uint row);
static inline uint column_place(Params params, uint group, uint col);
static inline void store(Operands x, Params params, uint group, uint row, uint place, float value);

static inline uint3 digits(uint i, uint y, uint z) {
  return (uint3)(i / (y * z), i / z % y, i % z);
}
/// The digits of a sum.
static inline uint3 advanced(uint3 a, uint3 b, uint y, uint z) {
  uint3 d = a + b;
  if (d.z >= z) d = (uint3)(d.x, d.y + 1, d.z - z);
  if (d.y >= y) d = (uint3)(d.x + 1, d.y - y, d.z);
  return d;
}

#if DIRECT
#define GROUP_X GROUP
#define GROUP_Y 1
#define SHARED_FLOATS GROUP

static inline void implicit_gemm(Operands x, Params params, local float* partial) {
  const uint item = get_local_id(0);
  const uint index =
      (get_group_id(0) + get_group_id(1) * get_num_groups(0)) * (GROUP / LANES) + item / LANES;
  const uint group = (params.first + get_group_id(2)) / params.pieces;
  const uint piece = (params.first + get_group_id(2)) % params.pieces;
  const uint row = index / params.n;
  const uint col = index % params.n;
  const uint3 place = digits(col, params.col_y, params.col_z);
  const uint end = row < params.m ? min(params.k, (piece + 1) * params.piece) : 0;
  const uint first = piece * params.piece + item % LANES;
  uint3 deep = digits(first, params.deep_y, params.deep_z);
  const uint3 step = digits(LANES, params.deep_y, params.deep_z);
  float sums[4] = {0};
  for (uint i = first; i < end; i += 4 * LANES) {
    UNROLLED(4, e, {
      if (i + e * LANES < end) {
        sums[e] = fma(load_a(x, params, group, row, deep), load_b(x, params, group, deep, place),
                      sums[e]);
      }
      deep = advanced(deep, step, params.deep_y, params.deep_z);
    })
  }
  float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  if (LANES > 1) {
    partial[item] = sum;
    for (uint width = LANES / 2; width > 0; width /= 2) {
      local_barrier();
      if (item % LANES < width) partial[item] += partial[item + width];
    }
    sum = partial[item];
  }
  if (item % LANES == 0 && row < params.m) {
    const uint at = row_place(params, group, piece, row) + column_place(params, group, col);
    store(x, params, group, row, at, sum);
  }
}
#else
#define GROUP_X (BN / TN)
#define GROUP_Y (BM / TM)
#define THREADS (GROUP_X * GROUP_Y)
#define SUMS PASTE(float, TN)
// A line for each deep; of odd length, so that neighbours along deep are in different banks.
#define LINE_A (BM + 1)
#define LINE_B (BN + 1)
#define SHARED_FLOATS (BK * (LINE_A + LINE_B))

static inline void implicit_gemm(Operands x, Params params, local float* tile_a) {
  local float* const tile_b = tile_a + BK * LINE_A;
  const uint tile = get_group_id(0) + get_group_id(1) * get_num_groups(0);
  const uint group = (params.first + get_group_id(2)) / params.pieces;
  const uint piece = (params.first + get_group_id(2)) % params.pieces;
  const uint row0 = tile / params.tiles_n * BM;
  const uint col0 = tile % params.tiles_n * BN;
  const uint tx = get_local_id(0);
  const uint ty = get_local_id(1);
  const uint t = ty * GROUP_X + tx;
  const uint first = piece * params.piece;
  const uint end = min(params.k, first + params.piece);
  const uint3 step = digits(BK, params.deep_y, params.deep_z);
  // What this work-item reads: of a always, of b with B_DEEP, the same deep in rows or columns
  // THREADS / BK apart; else the same column of b at deep GROUP_Y / TN apart. Rows and columns
  // beyond the product's are not read: nobody stores their sums.
  const uint line = t / BK;
  // None where a folded grid has more tiles than the product.
  const uint rows_here = min((uint)BM, max(params.m, row0) - row0);
  uint3 deep_a = digits(first + t % BK, params.deep_y, params.deep_z);
#if B_DEEP
  const uint columns_here = min((uint)BN, params.n - col0);
  const uint3 first_b = digits(col0 + line, params.col_y, params.col_z);
  const uint3 step_b = digits(THREADS / BK, params.col_y, params.col_z);
#else
  const uint column = ty % TN * GROUP_X + tx;
  const uint3 col_b = digits(col0 + column, params.col_y, params.col_z);
  uint3 deep_b = digits(first + ty / TN, params.deep_y, params.deep_z);
  const uint3 step_b = digits(GROUP_Y / TN, params.deep_y, params.deep_z);
#endif
  SUMS sums[TM] = {0};
  for (uint at = first; at < end; at += BK) {
    local_barrier();
    const uint length = min((uint)BK, end - at);
    const bool inside = t % BK < length;
    for (uint i = line; i < rows_here; i += THREADS / BK) {
      tile_a[t % BK * LINE_A + i] = inside ? load_a(x, params, group, row0 + i, deep_a) : 0;
    }
#if B_DEEP
    uint3 col_b = first_b;
    for (uint i = line; i < columns_here; i += THREADS / BK) {
      tile_b[t % BK * LINE_B + i] = inside ? load_b(x, params, group, deep_a, col_b) : 0;
      col_b = advanced(col_b, step_b, params.col_y, params.col_z);
    }
#else
    for (uint deep = ty / TN; deep < length; deep += GROUP_Y / TN) {
      tile_b[deep * LINE_B + column] =
          col0 + column < params.n ? load_b(x, params, group, deep_b, col_b) : 0;
      deep_b = advanced(deep_b, step_b, params.deep_y, params.deep_z);
    }
#endif
    deep_a = advanced(deep_a, step, params.deep_y, params.deep_z);
    local_barrier();
    for (uint deep = 0; deep < length; ++deep) {
      SUMS columns;
      UNROLLED(TN, j, columns[j] = tile_b[deep * LINE_B + j * GROUP_X + tx];)
      UNROLLED(TM, i, {
        const float row = tile_a[deep * LINE_A + ty * TM + i];
        sums[i] = fma((SUMS)row, columns, sums[i]);
      })
    }
  }
  UNROLLED(TN, j, {
    const uint col = col0 + j * GROUP_X + tx;
    const uint place = column_place(params, group, col);
    UNROLLED(TM, i, {
      const uint row = row0 + ty * TM + i;
      if (row < params.m && col < params.n) {
        store(x, params, group, row, row_place(params, group, piece, row) + place, sums[i][j]);
      }
    })
  })
}
#endif
