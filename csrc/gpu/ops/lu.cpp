#include "core/ops/lu.hpp"

#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

// By panels of columns: a panel is factored, its exchanges of rows follow beside it, then the rows
// of U to its right, and the update of what is left.
void GpuBackend::launch_lu(const LuRequest& r) {
  constexpr std::string_view op = "lu";
  require_factors(op, name(), r.matrices);
  const Size n = r.n, batch = r.matrices.batch;
  const std::uint64_t bytes = bytes_of(n * n * batch, DType::float32);
  const std::uint64_t bytes_of_rows = bytes_of(n * batch, DType::int32);
  const Binding factors = bind(op, r.factors, bytes);
  const AllocationRef scratch = memory_->scratch(op, bytes_of_rows);
  const Binding pivots = bind(op, BufferRange(scratch), bytes_of_rows);
  const std::array<Binding, 4> of_panel{factors, bind(op, r.permutation, bytes_of_rows),
                                        bind(op, r.status, bytes_of(2 * batch, DType::int32)),
                                        pivots};
  if (!(r.factors == r.a)) {
    device_->copy(buffer_of(r.factors), r.factors.offset, buffer_of(r.a), r.a.offset, bytes);
  }
  const BoundMatrices x{factors, n * n};
  const MatrixPart whole{0, n, 1};
  for (Size k = 0; k < n; k += factor_block) {
    const Size size = std::min(factor_block, n - k), next = k + size;
    const std::array<std::uint32_t, 4> params{u32(n), u32(k), u32(size), u32(batch)};
    run(KernelId::lu_panel, 0, params, of_panel, cover(static_cast<std::uint64_t>(batch), 1),
        [&](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
    if (size == n) break;
    constexpr std::uint32_t group = 64;
    const Size most = device_->limits().max_groups;
    for (Size first = 0; first < batch; first += most) {
      const std::array<std::uint32_t, 4> of_swaps{u32(n), u32(k), u32(size), u32(first)};
      const std::array<Binding, 2> both{factors, pivots};
      const std::array<std::uint32_t, 3> grid{u32((n - size + group - 1) / group),
                                              u32(std::min(most, batch - first)), 1};
      run(KernelId::lu_swaps, 0, of_swaps, both, grid,
          [&](TemplateVariables& v) { v["GROUP"] = std::int64_t{group}; });
    }
    if (next == n) break;
    solve_block(nullptr, whole.from(k, k), x, whole.from(k, next), size, n - next, true, batch);
    update_matrices(nullptr, whole.from(next, k), x, whole.from(k, next), whole.from(next, next),
                    n - next, n - next, size, false, batch);
  }
}

}  // namespace tilewright::gpu
