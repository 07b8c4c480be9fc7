#include "core/ops/lu.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr int block = 128;
/// Below this all columns are one panel: threads would not gain by sharing what is left of them.
constexpr int shared_from = 384;

int panel_of(int n) { return thread_count() == 1 || n < shared_from ? n : block; }

struct Result {
  std::int32_t* permutation;
  std::int32_t* status;
};

/// Of an n x n matrix by rows, in its place. A panel of its columns is factored by columns, in
/// `room`; what lies beside it follows, shared among threads.
template <class T>
void factor(T* x, int n, const Result& result, T* room, int* pivots) {
  const auto at = [&](int row, int column) {
    return x + static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + column;
  };
  const auto swap_rows = [&](int k, int size, int first, int columns) {
    for (int j = 0; j < size; ++j) {
      const int other = pivots[j] - 1;
      if (other != j)
        std::swap_ranges(at(k + j, first), at(k + j, first) + columns, at(k + other, first));
    }
  };
  std::iota(result.permutation, result.permutation + n, 0);
  result.status[0] = result.status[1] = 0;
  const int panel = panel_of(n);
  for (int k = 0; k < n; k += panel) {
    const int size = std::min(panel, n - k), rows = n - k, next = k + size;
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(size);
    transpose_to(at(k, k), static_cast<std::size_t>(n), room, height, height, width);
    const int info = lapack_getrf(rows, size, room, rows, pivots);
    if (info > 0 && result.status[0] == 0) result.status[0] = k + info;
    transpose_to(room, height, at(k, k), static_cast<std::size_t>(n), width, height);
    for (int j = 0; j < size; ++j) {
      const int other = pivots[j] - 1;
      if (other == j) continue;
      std::swap(result.permutation[k + j], result.permutation[k + other]);
      ++result.status[1];
    }
    const int pieces = std::clamp(n / 96, 1, 4 * static_cast<int>(thread_count()));
    const int step = ((n + pieces - 1) / pieces + 15) / 16 * 16;
    parallel_tasks(static_cast<std::size_t>((n + step - 1) / step), [&](std::size_t i) {
      const int first = static_cast<int>(i) * step, end = std::min(n, first + step);
      if (first < k) swap_rows(k, size, first, std::min(end, k) - first);
      if (end <= next) return;
      const int from = std::max(first, next), columns = end - from;
      swap_rows(k, size, from, columns);
      blas_trsm(from_left, lower_half, as_it_is, unit_diagonal, size, columns, at(k, k), n,
                at(k, from), n);
      blas_gemm(as_it_is, as_it_is, n - next, columns, size, T(-1), at(next, k), n, at(k, from), n,
                T(1), at(next, from), n);
    });
  }
}

}  // namespace

void CpuBackend::do_lu(const LuRequest& r) {
  const int n = lapack_size("lu", "n", r.n, std::numeric_limits<int>::max());
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto size = static_cast<std::size_t>(n), elements = size * size;
    const auto panel = static_cast<std::size_t>(panel_of(n));
    OpScratch all(*memory_, "lu", floats_for<T>(size * panel) + floats_for<int>(panel),
                  static_cast<std::size_t>(r.matrices.batch));
    const double work = static_cast<double>(r.n) * static_cast<double>(r.n) * (n / 1.5 + 1);
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      Scratch scratch(all);
      T* const room = take<T>(scratch, size * panel);
      int* const pivots = take<int>(scratch, panel);
      T* const x = data<T>(r.factors) + i * elements;
      if (!(r.factors == r.a)) std::memcpy(x, data<T>(r.a) + i * elements, elements * sizeof(T));
      factor(x, n,
             {data<std::int32_t>(r.permutation) + i * size, data<std::int32_t>(r.status) + 2 * i},
             room, pivots);
    });
  });
}

}  // namespace tilewright::cpu
