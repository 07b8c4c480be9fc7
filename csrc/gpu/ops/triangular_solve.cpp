#include "core/ops/triangular_solve.hpp"

#include <algorithm>

#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_triangular_solve(const TriangularSolveRequest& r) {
  constexpr std::string_view op = "triangular_solve";
  require_factors(op, r.matrices);
  constexpr Size narrowest = 64;  // columns of a workgroup
  check_groups(op, (r.columns + narrowest - 1) / narrowest);
  const Size n = r.n, batch = r.matrices.batch;
  const std::uint64_t bytes = bytes_of(n * r.columns * batch, r.matrices);
  const BoundMatrices a{bind(op, r.a, bytes_of(n * n * batch, r.matrices)), n * n};
  const BoundMatrices x{bind(op, r.x, bytes), n * r.columns};
  if (!(r.x == r.b)) {
    copy_between(buffer_of(r.x), r.x.offset, buffer_of(r.b), r.b.offset, bytes);
  }
  // As a lower triangle from the left: X A = B is A^T X^T = B^T, and an upper triangle is a lower
  // one from its end.
  MatrixPart of_a{0, n, 1}, of_x{0, r.columns, 1};
  bool upper = r.upper;
  if (r.right) of_x = {0, 1, n};
  if ((r.trans != Transpose::none) != r.right) {
    of_a = of_a.transposed();
    upper = !upper;
  }
  if (upper) {
    of_a = of_a.from(n - 1, n - 1);
    of_a = {of_a.start, -of_a.row, -of_a.column};
    of_x = of_x.from(n - 1, 0);
    of_x.row = -of_x.row;
  }
  const bool conjugate = r.trans == Transpose::conj_transpose;
  const Size block = factor_block(r.matrices);
  for (Size k = 0; k < n; k += block) {
    const Size size = std::min(block, n - k), next = k + size;
    solve_block(&a, of_a.from(k, k), x, of_x.from(k, 0), size, r.columns, r.unit, conjugate,
                r.matrices);
    update_matrices(&a, of_a.from(next, k), x, of_x.from(k, 0), of_x.from(next, 0), n - next,
                    r.columns, size, false, {.a = conjugate}, r.matrices);
  }
}

}  // namespace tilewright::gpu
