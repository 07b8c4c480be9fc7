// C = alpha * (sum of the products of all pieces of k) + beta * C, one element a work-item.
// 0 products, tight m x n matrices: the pieces of the first batch, of the second, ...; 1 c.
//! TC: f32 f16
//! GROUP: 256
//! ignored: T
typedef struct {
  uint batches, m, n, ldc, stride_c, pieces;
  float alpha, beta;
} Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gemm_join(global const float* products, global TC* c, const Params params) {
  const uint item = item_index(GROUP);
  const uint size = params.m * params.n;
  const uint batch = item / size;
  if (batch >= params.batches) return;
  const uint inside = item % size;
  const uint base = batch * params.pieces * size + inside;
  float sum = 0;
  uint piece = 0;
  for (; piece + 3 < params.pieces; piece += 4) {
    float x[4];
    UNROLL for (uint e = 0; e < 4; ++e) x[e] = products[base + (piece + e) * size];
    sum += (x[0] + x[1]) + (x[2] + x[3]);
  }
  for (; piece < params.pieces; ++piece) sum += products[base + piece * size];
  const uint at = batch * params.stride_c + inside / params.n * params.ldc + inside % params.n;
  float result = params.alpha * sum;
  if (params.beta != 0) result += params.beta * (float)c[at];
  c[at] = (TC)result;
}
