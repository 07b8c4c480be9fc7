// The tiles of 2x2 outputs from their products with Winograd's F(2x2, 3x3), and the bias. A tile of
// an output channel a work-item.
// An output depends on its own window alone. Differences of infinities, and sums that overflow only
// in between, make it NaN or infinite where the sum over the window may not be: such an output is
// summed directly.
// 0 products, 1 input, 2 filter, 3 output, 4 bias where BIAS.
// Variables: PAIRS (1: the output's rows are whole pairs).
//! GROUP: 256
//! T: f32 f16
//! BIAS: 0 1
//! PAIRS: constant
typedef struct {
  uint items, columns, planes, first, tiles_h, tiles_w;
  uint batch, channels, filters, height, width, pad_h, pad_w;
  uint out_height, out_width;
} Params;

static inline bool is_finite(float x) { return (as_uint(x) & 0x7f800000) != 0x7f800000; }
static inline bool is_nan(float x) { return x != x; }

static inline float summed(global const T* input, global const T* taps, Params params, uint image,
                           uint filter, uint y, uint x) {
  // Left of or above the image is a large number here.
  const uint top = y - params.pad_h;
  const uint left = x - params.pad_w;
  float sum = 0;
  for (uint channel = 0; channel < params.channels && !is_nan(sum); ++channel) {
    const uint plane = (image * params.channels + channel) * params.height;
    const uint at = (filter * params.channels + channel) * 9;
    for (uint r = 0; r < 3; ++r) {
      for (uint s = 0; s < 3; ++s) {
        const bool inside = top + r < params.height && left + s < params.width;
        const float pixel = inside ? input[(plane + top + r) * params.width + left + s] : 0;
        sum = fma((float)taps[at + 3 * r + s], pixel, sum);
      }
    }
  }
  return sum;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
#if BIAS
kernel void conv2d_winograd_output(global const float* products, global const T* input,
                                   global const T* taps, global T* output, global const T* bias,
                                   const Params params) {
#else
kernel void conv2d_winograd_output(global const float* products, global const T* input,
                                   global const T* taps, global T* output, const Params params) {
#endif
  const uint item = item_index(GROUP);
  if (item >= params.items) return;
  const uint tile = params.first + item % params.columns;
  const uint image = tile / (params.tiles_h * params.tiles_w);
  if (image >= params.batch) return;
  const uint filter = item / params.columns;
  const uint y = tile / params.tiles_w % params.tiles_h * 2;
  const uint x = tile % params.tiles_w * 2;
  // Both rows of outputs, before the same is done along the columns.
  float rows[2][4];
#pragma unroll
  for (uint s = 0; s < 4; ++s) {
    float m[4];
#pragma unroll
    for (uint r = 0; r < 4; ++r) m[r] = products[(4 * r + s) * params.planes + item];
    rows[0][s] = m[0] + m[1] + m[2];
    rows[1][s] = m[1] - m[2] - m[3];
  }
#pragma unroll
  for (uint r = 0; r < 2; ++r) {
    if (y + r >= params.out_height) continue;
    float2 result = {rows[r][0] + rows[r][1] + rows[r][2], rows[r][1] - rows[r][2] - rows[r][3]};
    if (!is_finite(result.x)) result.x = summed(input, taps, params, image, filter, y + r, x);
    if (!is_finite(result.y)) result.y = summed(input, taps, params, image, filter, y + r, x + 1);
#if BIAS
    result += (float)bias[filter];
#endif
    const uint line = (image * params.filters + filter) * params.out_height + y + r;
    const uint at = line * params.out_width + x;
    if (PAIRS) {
      ((global TWO(T)*)output)[at / 2] = convert(result, TWO(T));
    } else {
      output[at] = (T)result.x;
      if (x + 1 < params.out_width) output[at + 1] = (T)result.y;
    }
  }
}
