// winners[row] = 1 + the last i with indices[i] == row; the buffer starts as zeros.
// 0 indices, 1 winners.
//! GROUP: 256
//! ignored: T
typedef struct { uint count, rows; } Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scatter_winners(global const uint* indices, global uint* winners, const Params params) {
  const uint i = item_index(GROUP);
  if (i >= params.count) return;
  const uint row = indices[i];
  if (row < params.rows) atomic_max(&winners[row], i + 1);
}
