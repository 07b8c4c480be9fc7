// conv2d, or with BACKWARD the gradient of its input, as one product for each filter tap: rows are
// the channels that are written, columns their positions (image, y, x), deep are the channels that
// are read, in steps of BK of one tap, so that where a column reads changes only from tap to tap.
// 0 source, 1 the filter of conv2d_pack.cl, 2 result, 3 bias where BIAS.
// A BM x BN tile a workgroup, TM x TN of it a work-item, columns of neighbours side by side; the
// next step is read from memory while this one is used, from the other half of the workgroup memory
// (BUFFERS 2, which every device that this is compiled for has room for).
//! twin: Intel's compiler spills up to 16 KiB of a hardware thread where it is translated
//! BM: 32 64 128
//! BN: 64 128
//! BK: 16
//! TM: 4 8
//! TN: 4 8
//! only: (BM, BN, TM, TN) in [(32, 64, 4, 4), (64, 64, 4, 4), (64, 128, 8, 4), (128, 128, 8, 8)]
//! BUFFERS: 2
//! BACKWARD: 0 1
//! BIAS: 0 1
//! only: not (BACKWARD and BIAS)
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
//! T: f32 f16
//! ignored: VECTOR
typedef struct {
  uint m, n, deep, groups, tiles, tiles_n, first;
  uint filter_height, filter_width;
  uint source_height, source_width, result_height, result_width;
  uint stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  float slope;  // of activation.h
  uint zero;
} Params;
#include "activation.h"

#define NX (BN / TN)
#define NY (BM / TM)
// Of a step, a work-item reads one column at every LINES_A-th or LINES_B-th deep.
#define LINES_A (NY / (BM / NX))
#define LINES_B (NY / TN)
#define LOADS_A (BK / LINES_A)
#define LOADS_B (BK / LINES_B)
#define SUMS PASTE(float, TN)

/// No place in the source: what is read there is padding.
#define PADDING 0xffffffffu

/// Where in a plane of the source the position (y, x) reads for a tap, or PADDING.
static inline uint seen(Params params, uint2 at, uint tap) {
  const uint r = tap / params.filter_width * params.dilation_h;
  const uint s = tap % params.filter_width * params.dilation_w;
  // Outside of the source on the left or above is a large number here.
#if BACKWARD
  const uint y = at.x + params.pad_h - r;
  const uint x = at.y + params.pad_w - s;
  const uint p = y / params.stride_h;
  const uint q = x / params.stride_w;
  const bool inside = p < params.source_height && q < params.source_width &&
                      p * params.stride_h == y && q * params.stride_w == x;
#else
  const uint p = at.x * params.stride_h + r - params.pad_h;
  const uint q = at.y * params.stride_w + s - params.pad_w;
  const bool inside = p < params.source_height && q < params.source_width;
#endif
  return inside ? p * params.source_width + q : PADDING;
}

__attribute__((reqd_work_group_size(NX, NY, 1)))
#if BIAS
kernel void conv2d_taps(global const T* source, global const T* packed, global T* result,
                        global const T* bias, const Params params) {
#else
kernel void conv2d_taps(global const T* source, global const T* packed, global T* result,
                        const Params params) {
  global const T* const bias = 0;
#endif
  local float tile_a[BUFFERS][BK][BM] __attribute__((aligned(16)));
  local float tile_b[BUFFERS][BK][BN];
  const uint tile = get_group_id(0) + get_group_id(1) * get_num_groups(0);
  if (tile >= params.tiles) return;
  const uint group = params.first + get_group_id(2);
  const uint row0 = tile / params.tiles_n * BM;
  const uint col0 = tile % params.tiles_n * BN;
  const uint tx = get_local_id(0);
  const uint ty = get_local_id(1);
  const uint steps_of_tap = params.deep / BK;
  const uint steps = params.filter_height * params.filter_width * steps_of_tap;
  // BK, but no compiler knows: Intel's would read a whole step into registers.
  const uint length = min(params.deep, BK);

  const uint row_a = ty % (BM / NX) * NX + tx;
  const uint line_a = ty / (BM / NX);
  const uint padded_rows = (params.m + BM - 1) / BM * BM;
  uint at_a = (group * params.filter_height * params.filter_width * params.deep + line_a) *
                  padded_rows + row0 + row_a;

  const uint result_plane = params.result_height * params.result_width;
  const uint source_plane = params.source_height * params.source_width;
  const uint column_b = ty % TN * NX + tx;
  const uint line_b = ty / TN;
  const uint col = col0 + column_b;
  const uint image = col / result_plane;
  const uint2 position = {col % result_plane / params.result_width, col % params.result_width};
  const uint first_b = ((image * params.groups + group) * params.deep + line_b) * source_plane;
  uint tap = 0;
  uint left_of_tap = steps_of_tap;
  uint place = col < params.n ? seen(params, position, 0) : PADDING;
  uint at_b = first_b + place;

  T next_a[LOADS_A];
  T next_b[LOADS_B];
  SUMS sums[TM] = {0};
  for (uint step = 0; step <= steps; ++step) {
    if (step < steps) {
      UNROLLED(LOADS_B, i,
               next_b[i] = place != PADDING ? source[at_b + i * LINES_B * source_plane] : 0;)
      UNROLLED(LOADS_A, i, next_a[i] = packed[at_a + i * LINES_A * padded_rows];)
      at_a += BK * padded_rows;
      at_b += BK * source_plane;
      if (--left_of_tap == 0) {
        ++tap;
        left_of_tap = steps_of_tap;
        place = col < params.n ? seen(params, position, tap) : PADDING;
        at_b = first_b + place;
      }
    }
    if (step > 0) {
      const uint from = (step - 1) % BUFFERS;
      for (uint deep = 0; deep < length; ++deep) {
        SUMS columns;
        UNROLLED(TN, j, columns[j] = tile_b[from][deep][j * NX + tx];)
        UNROLLED(TM, i, {
          const float row = tile_a[from][deep][ty * TM + i];
          sums[i] = fma((SUMS)row, columns, sums[i]);
        })
      }
    }
    if (step < steps) {
      const uint to = step % BUFFERS;
      UNROLLED(LOADS_A, i, tile_a[to][line_a + i * LINES_A][row_a] = next_a[i];)
      UNROLLED(LOADS_B, i, tile_b[to][line_b + i * LINES_B][column_b] = next_b[i];)
      local_barrier();
    }
  }

  UNROLLED(TN, j, {
    const uint column = col0 + j * NX + tx;
    const uint plane = column / result_plane * params.groups + group;
    const uint at = plane * params.m * result_plane + column % result_plane;
    UNROLLED(TM, i, {
      const uint row = row0 + ty * TM + i;
      if (column < params.n && row < params.m) {
        const float sum = BIAS ? sums[i][j] + bias[group * params.m + row] : sums[i][j];
        result[at + row * result_plane] = (T)activated(sum, params.slope);
      }
    })
  })
}
