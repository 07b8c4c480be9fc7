#include "core/ops/triangular_solve.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

void CpuBackend::do_triangular_solve(const TriangularSolveRequest& r) {
  constexpr Size most = std::numeric_limits<int>::max();
  const int n = lapack_size("triangular_solve", "n", r.n, most);
  const int columns = lapack_size("triangular_solve", "columns", r.columns, most);
  const int half = r.upper ? upper_half : lower_half;
  const int op = r.trans == Transpose::none        ? as_it_is
                 : r.trans == Transpose::transpose ? transposed
                                                   : conjugated;
  const int diagonal = r.unit ? unit_diagonal : general;
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto of_a = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const auto of_x = static_cast<std::size_t>(n) * static_cast<std::size_t>(columns);
    const double work = static_cast<double>(n) * static_cast<double>(of_x);
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      const T* const a = data<T>(r.a) + i * of_a;
      T* const x = data<T>(r.x) + i * of_x;
      if (!(r.x == r.b)) std::memcpy(x, data<T>(r.b) + i * of_x, of_x * sizeof(T));
      // What is solved for by itself is a column, from the right a row.
      constexpr double worth_a_thread = 1 << 18;
      const double threads = static_cast<double>(thread_count());
      const int pieces = static_cast<int>(
          std::clamp(work / worth_a_thread, 1.0, std::min(threads, columns / 8 + 1.0)));
      const int step = (columns + pieces - 1) / pieces;
      parallel_tasks(static_cast<std::size_t>((columns + step - 1) / step), [&](std::size_t p) {
        const int first = static_cast<int>(p) * step, count = std::min(step, columns - first);
        if (r.right) {
          blas_trsm(from_right, half, op, diagonal, count, n, a, n,
                    x + static_cast<std::size_t>(first) * static_cast<std::size_t>(n), n);
        } else {
          blas_trsm(from_left, half, op, diagonal, n, count, a, n, x + first, columns);
        }
      });
    });
  });
}

}  // namespace tilewright::cpu
