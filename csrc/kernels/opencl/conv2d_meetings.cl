// One of conv2d's ops as sums over the elements of its operands that meet, those of its rows and
// of its columns each from a table: first element of a, first element of b, count. One element of
// the result a work-item.
// 0 a, 1 b, 2 the tables, of rows and then of columns, 3 result, 4 bias where BIAS.
//! T: f32 f16
//! BIAS: 0 1
//! GROUP: 256
typedef struct {
  uint n, height, width;
  uint minors, planes_of_group, groups, depth;
  uint a_major, a_minor, a_group, a_step, a_height, a_width;
  uint b_major, b_minor, b_group, b_step, b_height, b_width;
  uint a_row_step, b_row_step, a_column_step, b_column_step;
} Params;

static inline uint3 meeting(global const uint* tables, uint i) {
  return (uint3)(tables[3 * i], tables[3 * i + 1], tables[3 * i + 2]);
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
#if BIAS
kernel void conv2d_meetings(global const T* a, global const T* b, global const uint* tables,
                            global T* result, global const T* bias, const Params params) {
#else
kernel void conv2d_meetings(global const T* a, global const T* b, global const uint* tables,
                            global T* result, const Params params) {
#endif
  const uint item = item_index(GROUP);
  if (item >= params.n) return;
  const uint3 row = meeting(tables, item / params.width % params.height);
  const uint3 column = meeting(tables, params.height + item % params.width);
  const uint plane = item / params.width / params.height;
  const uint major = plane / params.minors;
  const uint minor = plane % params.minors;
  const uint of_group = plane / params.planes_of_group % params.groups;
  const uint plane_a = major * params.a_major + minor * params.a_minor + of_group * params.a_group;
  const uint plane_b = major * params.b_major + minor * params.b_minor + of_group * params.b_group;
  const uint first_a = (plane_a * params.a_height + row.x) * params.a_width + column.x;
  const uint first_b = (plane_b * params.b_height + row.y) * params.b_width + column.y;
  const uint deep_a = params.a_step * params.a_height * params.a_width;
  const uint deep_b = params.b_step * params.b_height * params.b_width;
  const uint depth = row.z > 0 && column.z > 0 ? params.depth : 0;
  float sum = 0;
  for (uint deep = 0; deep < depth; ++deep) {
    float plane_sum = 0;
    for (uint y = 0; y < row.z; ++y) {
      uint at_a = first_a + deep * deep_a + y * params.a_row_step * params.a_width;
      uint at_b = first_b + deep * deep_b + y * params.b_row_step * params.b_width;
      float row_sum = 0;
      for (uint x = 0; x < column.z; ++x) {
        row_sum = fma((float)a[at_a], (float)b[at_b], row_sum);
        at_a += params.a_column_step;
        at_b += params.b_column_step;
      }
      plane_sum += row_sum;
    }
    sum += plane_sum;
  }
#if BIAS
  sum += bias[minor];
#endif
  result[item] = (T)sum;
}
