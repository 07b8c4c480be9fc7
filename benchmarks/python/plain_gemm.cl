// C = A B for square matrices of a multiple of TILE, as text books tile it: TILE x TILE of C a
// workgroup, an element a work-item, tiles of A and B in workgroup memory.
// 0 a, 1 b, 2 c.
#define TILE 16

__attribute__((overloadable, const)) unsigned long get_local_id(unsigned int dimension);
__attribute__((overloadable, const)) unsigned long get_group_id(unsigned int dimension);
__attribute__((overloadable, convergent)) void barrier(unsigned int fences);
__attribute__((overloadable, const)) float fma(float x, float y, float z);

typedef struct { unsigned int n; } Params;

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
kernel void plain_gemm(global const float* a, global const float* b, global float* c,
                       const Params params) {
  local float tile_a[TILE][TILE];
  local float tile_b[TILE][TILE];
  const unsigned long n = params.n;
  const unsigned long x = get_local_id(0);
  const unsigned long y = get_local_id(1);
  const unsigned long row = get_group_id(1) * TILE + y;
  const unsigned long column = get_group_id(0) * TILE + x;
  float sum = 0;
  for (unsigned long k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    barrier(1);
    for (unsigned int i = 0; i < TILE; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    barrier(1);
  }
  c[row * n + column] = sum;
}
