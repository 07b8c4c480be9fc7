// What each tile of 2x2 outputs sees of a channel, its patch of 4x4 pixels, as the 4x4 factors of
// Winograd's F(2x2, 3x3), factor by factor: by channel, tiles side by side. The padding and the
// tiles past the last image are zeros. A channel of a tile a work-item.
// 0 input, 1 factors.
//! GROUP: 256
//! T: f32 f16
typedef struct {
  uint items, columns, first, tiles_h, tiles_w;
  uint batch, channels, height, width, pad_h, pad_w;
} Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void conv2d_winograd_input(global const T* input, global float* factors,
                                  const Params params) {
  const uint item = item_index(GROUP);
  if (item >= params.items) return;
  const uint tile = params.first + item % params.columns;
  const uint image = tile / (params.tiles_h * params.tiles_w);
  // Left of or above the image is a large number here.
  const uint top = tile / params.tiles_w % params.tiles_h * 2 - params.pad_h;
  const uint left = tile % params.tiles_w * 2 - params.pad_w;
  const uint plane = (image * params.channels + item / params.columns) * params.height;
  float d[4][4];
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
#pragma unroll
    for (uint s = 0; s < 4; ++s) {
      const bool inside =
          image < params.batch && top + r < params.height && left + s < params.width;
      d[r][s] = inside ? input[(plane + top + r) * params.width + left + s] : 0;
    }
  }
  float v[4][4];
#pragma unroll
  for (uint s = 0; s < 4; ++s) {
    v[0][s] = d[0][s] - d[2][s];
    v[1][s] = d[1][s] + d[2][s];
    v[2][s] = d[2][s] - d[1][s];
    v[3][s] = d[1][s] - d[3][s];
  }
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
    factors[4 * r * params.items + item] = v[r][0] - v[r][2];
    factors[(4 * r + 1) * params.items + item] = v[r][1] + v[r][2];
    factors[(4 * r + 2) * params.items + item] = v[r][2] - v[r][1];
    factors[(4 * r + 3) * params.items + item] = v[r][1] - v[r][3];
  }
}
