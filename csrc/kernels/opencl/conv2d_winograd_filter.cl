// The taps of each 3x3 filter as the 4x4 factors of Winograd's F(2x2, 3x3), factor by factor: by
// channel, filters side by side, with zeros up to `rows`. A channel of a filter a work-item.
// 0 filter, 1 factors.
//! GROUP: 256
//! T: f32 f16
typedef struct { uint items, filters, rows, channels; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void conv2d_winograd_filter(global const T* taps, global float* factors,
                                   const Params params) {
  const uint item = item_index(GROUP);
  if (item >= params.items) return;
  const uint row = item % params.rows;
  float g[3][3] = {{0}};
  if (row < params.filters) {
    const uint at = (row * params.channels + item / params.rows) * 9;
#pragma unroll
    for (uint r = 0; r < 3; ++r) {
#pragma unroll
      for (uint s = 0; s < 3; ++s) g[r][s] = taps[at + 3 * r + s];
    }
  }
  float u[4][3];
#pragma unroll
  for (uint s = 0; s < 3; ++s) {
    u[0][s] = g[0][s];
    u[1][s] = 0.5f * (g[0][s] + g[1][s] + g[2][s]);
    u[2][s] = 0.5f * (g[0][s] - g[1][s] + g[2][s]);
    u[3][s] = g[2][s];
  }
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
    factors[4 * r * params.items + item] = u[r][0];
    factors[(4 * r + 1) * params.items + item] = 0.5f * (u[r][0] + u[r][1] + u[r][2]);
    factors[(4 * r + 2) * params.items + item] = 0.5f * (u[r][0] - u[r][1] + u[r][2]);
    factors[(4 * r + 3) * params.items + item] = u[r][2];
  }
}
