// A filter as conv2d_taps.cl reads it: by group, tap and depth, rows side by side, with zeros up
// to whole tiles of rows. One line of rows a workgroup.
// 0 filter, 1 packed.
//! GROUP: 256
//! T: f32 f16
typedef struct {
  uint lines, rows, padded_rows, deep, taps;
  uint group_stride, row_stride, deep_stride;
} Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void conv2d_pack(global const T* filter, global T* lines, const Params params) {
  const uint line = get_group_id(0) + get_group_id(1) * get_num_groups(0);
  if (line >= params.lines) return;
  const uint deep = line % params.deep;
  const uint tap = line / params.deep % params.taps;
  const uint base = line / (params.deep * params.taps) * params.group_stride +
                    deep * params.deep_stride + tap;
  for (uint row = get_local_id(0); row < params.padded_rows; row += GROUP) {
    lines[line * params.padded_rows + row] =
        row < params.rows ? filter[base + row * params.row_stride] : 0;
  }
}
