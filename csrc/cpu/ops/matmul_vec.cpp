#include <algorithm>
#include <cstddef>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t grain = 1 << 15;    // elements of the matrix
constexpr std::size_t columns = 1 << 13;  // of the vector at a time, converted

void multiply_rows(const float* matrix, std::size_t stride, const float* vector, float* out,
                   std::size_t rows, std::size_t cols) {
  row_kernels<float>().dot_rows(matrix, rows, stride, vector, cols, 1, out);
}

/// In parts of the rows, so that the converted vector stays in the cache.
void multiply_rows(const Half* matrix, std::size_t stride, const Half* vector, Half* out,
                   std::size_t rows, std::size_t cols) {
  constexpr std::size_t block = 512;
  alignas(64) float part[columns];
  float sums[block], products[block];
  for (std::size_t first = 0; first < rows; first += block) {
    const std::size_t count = std::min(block, rows - first);
    std::fill_n(sums, count, 0.0f);
    for (std::size_t j = 0; j < cols; j += columns) {
      const std::size_t n = std::min(columns, cols - j);
      if (cols > columns || first == 0) to_float32(vector + j, part, n);
      row_kernels<Half>().dot_rows(matrix + first * stride + j, count, stride, part, n, 1,
                                   products);
      for (std::size_t i = 0; i < count; ++i) sums[i] += products[i];
    }
    from_float32(sums, out + first, count);
  }
}

template <class T>
void multiply(const MatmulVecRequest& r) {
  const auto rows = static_cast<std::size_t>(r.rows), cols = static_cast<std::size_t>(r.cols);
  const T* const matrix = data<T>(r.matrix);
  parallel_for(rows, grain / (cols + 1) + 1, [&](std::size_t begin, std::size_t end) {
    multiply_rows(matrix + begin * cols, cols, data<T>(r.vector), data<T>(r.out) + begin,
                  end - begin, cols);
  });
}

}  // namespace

void CpuBackend::do_matmul_vec(const MatmulVecRequest& r) {
  r.dtype == DType::float16 ? multiply<Half>(r) : multiply<float>(r);
}

}  // namespace tilewright::cpu
