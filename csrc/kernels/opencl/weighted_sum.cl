// output[h, d] = sum over i of weights[h, i] * rows[h / share, i, d]: COLUMNS outputs a workgroup,
// each summed by GROUP / COLUMNS work-items, then by a tree.
// 0 weights, 1 rows, 2 output.
// COLUMNS is a power of two.
//! T: f32 f16
//! GROUP: 256
//! COLUMNS: constant
typedef struct { uint n, count, dim, share; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void weighted_sum(global const T* weights, global const T* rows, global T* output,
                         const Params params) {
  local float partial[GROUP];
  const uint walkers = GROUP / COLUMNS;
  const uint item_in_group = get_local_id(0);
  const uint walker = item_in_group / COLUMNS;
  const uint item = group_index() * COLUMNS + item_in_group % COLUMNS;
  const uint count = item < params.n ? params.count : 0;
  const uint head = item / params.dim;
  const uint base = (head / params.share) * params.count * params.dim + item % params.dim;
  const uint base_w = head * params.count;
  float sums[4] = {0, 0, 0, 0};
  uint i = walker;
  for (; i + 3 * walkers < count; i += 4 * walkers) {
    UNROLL for (uint e = 0; e < 4; ++e) {
      const uint at = i + e * walkers;
      sums[e] = fma((float)weights[base_w + at], (float)rows[base + at * params.dim], sums[e]);
    }
  }
  for (; i < count; i += walkers) {
    sums[0] = fma((float)weights[base_w + i], (float)rows[base + i * params.dim], sums[0]);
  }
  partial[item_in_group] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (uint width = walkers / 2; width > 0; width /= 2) {
    local_barrier();
    if (walker < width) partial[item_in_group] += partial[item_in_group + width * COLUMNS];
  }
  if (walker == 0 && item < params.n) output[item] = (T)partial[item_in_group];
}
