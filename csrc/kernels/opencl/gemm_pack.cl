// Copies of A and B, batched, whose rows are whole vec4: with zeros where they grow. A vector a
// work-item, those of A first; one that is not packed has no items.
// 0 a, 1 b, 2 packed.
//! GROUP: 256
//! T: f32 f16
typedef struct {
  uint rows, columns, ld, stride, packed_rows, vectors, items, start;
} Matrix;
typedef struct {
  Matrix a, b;
} Params;

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gemm_pack(global const T* a, global const T* b, global FOUR(T)* packed,
                      const Params params) {
  uint item = item_index(GROUP);
  const bool in_a = item < params.a.items;
  const Matrix matrix = in_a ? params.a : params.b;
  if (!in_a) item -= params.a.items;
  if (item >= matrix.items) return;
  const uint line = item / matrix.vectors;
  const uint row = line % matrix.packed_rows;
  const uint column = item % matrix.vectors * 4;
  const uint columns = row < matrix.rows ? matrix.columns : 0;
  global const T* from = (in_a ? a : b) + line / matrix.packed_rows * matrix.stride +
                         row * matrix.ld + column;
  FOUR(T) result = 0;
  UNROLL for (uint e = 0; e < 4; ++e) {
    if (column + e < columns) result[e] = from[e];
  }
  packed[matrix.start + item] = result;
}
