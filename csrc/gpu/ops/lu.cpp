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
  require_factors(op, r.matrices);
  const Size n = r.n, batch = r.matrices.batch;
  const std::uint64_t bytes = bytes_of(n * n * batch, r.matrices);
  const std::uint64_t bytes_of_rows = bytes_of(n * batch, DType::int32);
  const Binding factors = bind(op, r.factors, bytes);
  const AllocationRef scratch = memory_->scratch(op, bytes_of_rows);
  const Binding pivots = bind(op, BufferRange(scratch), bytes_of_rows);
  const Size block = factor_block(r.matrices);
  const std::uint64_t bytes_of_panels = bytes_of(n * block * batch, r.matrices);
  const AllocationRef room = memory_->scratch(op, bytes_of_panels);
  const std::array<Binding, 5> of_panel{factors, bind(op, r.permutation, bytes_of_rows),
                                        bind(op, r.status, bytes_of(2 * batch, DType::int32)),
                                        pivots, bind(op, BufferRange(room), bytes_of_panels)};
  if (!(r.factors == r.a)) {
    device_->copy(buffer_of(r.factors), r.factors.offset, buffer_of(r.a), r.a.offset, bytes);
  }
  const BoundMatrices x{factors, n * n};
  const MatrixPart whole{0, n, 1};
  const auto fill = [&](std::uint32_t group) {
    return [&, group](TemplateVariables& v) {
      set_numbers(v, r.matrices);
      v["GROUP"] = std::int64_t{group};
    };
  };
  for (Size k = 0; k < n; k += block) {
    const Size size = std::min(block, n - k), next = k + size;
    const std::array<std::uint32_t, 4> params{u32(n), u32(k), u32(size), u32(batch)};
    run(KernelId::lu_panel, variant_of(r.matrices), params, of_panel,
        cover(static_cast<std::uint64_t>(batch), 1), fill(group_size));
    if (size == n) break;
    constexpr std::uint32_t group = 64;
    const Size most = device_->limits().max_groups;
    for (Size first = 0; first < batch; first += most) {
      const std::array<std::uint32_t, 4> of_swaps{u32(n), u32(k), u32(size), u32(first)};
      const std::array<Binding, 2> both{factors, pivots};
      const std::array<std::uint32_t, 3> grid{u32((n - size + group - 1) / group),
                                              u32(std::min(most, batch - first)), 1};
      run(KernelId::lu_swaps, variant_of(r.matrices), of_swaps, both, grid, fill(group));
    }
    if (next == n) break;
    solve_block(nullptr, whole.from(k, k), x, whole.from(k, next), size, n - next, true, false,
                r.matrices);
    update_matrices(nullptr, whole.from(next, k), x, whole.from(k, next), whole.from(next, next),
                    n - next, n - next, size, false, {}, r.matrices);
  }
}

}  // namespace tilewright::gpu
