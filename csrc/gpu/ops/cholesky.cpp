#include "core/ops/cholesky.hpp"

#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

// By blocks of columns: the block on the diagonal with what is below it, and the update of what is
// left.
void GpuBackend::launch_cholesky(const CholeskyRequest& r) {
  constexpr std::string_view op = "cholesky";
  require_factors(op, r.matrices);
  const Size n = r.n, batch = r.matrices.batch, elements = n * n * batch;
  const std::uint64_t bytes = bytes_of(elements, r.matrices);
  const Binding factor = bind(op, r.factor, bytes);
  const Binding status = bind(op, r.status, bytes_of(batch, DType::int32));
  const auto triangle = [&](const Binding* source, bool from_upper, bool to_upper) {
    const std::array<std::uint32_t, 4> params{u32(n), u32(elements), from_upper ? 1u : 0u,
                                              to_upper ? 1u : 0u};
    const std::array<Binding, 2> both{source != nullptr ? *source : factor, factor};
    const bool in_place = source == nullptr;
    run(KernelId::triangle, variant_of(r.matrices, in_place ? 1 : 0), params,
        std::span(both).subspan(in_place ? 1 : 0),
        cover(static_cast<std::uint64_t>(elements), group_size), [&](TemplateVariables& v) {
          set_numbers(v, r.matrices);
          v["GROUP"] = std::int64_t{group_size};
          v["IN_PLACE"] = std::int64_t{in_place};
        });
  };
  if (r.factor == r.a) {
    triangle(nullptr, r.upper, false);
  } else {
    const Binding a = bind(op, r.a, bytes);
    triangle(&a, r.upper, false);
  }
  const BoundMatrices x{factor, n * n};
  const MatrixPart whole{0, n, 1};
  const Size block = factor_block(r.matrices), most = device_->limits().max_groups;
  // A factor of each matrix that waits for its place; there is none where the first block is all.
  const std::uint64_t bytes_kept = bytes_of(n <= block ? 1 : batch * block * block, r.matrices);
  const AllocationRef scratch = memory_->scratch(op, bytes_kept);
  const std::array<Binding, 3> of_panel{factor, status, bind(op, BufferRange(scratch), bytes_kept)};
  const auto panel = [&](Size k, Size size) {
    const Size own = cholesky_rows(r.matrices), below = n - k - size;
    const Size groups = std::max<Size>((below + own - 1) / own, 1);
    check_groups(op, groups);
    for (Size first = 0; first < batch; first += most) {
      const std::array<std::uint32_t, 5> params{u32(n), u32(k), u32(size), u32(first),
                                                k == 0 ? 0u : u32(block)};
      run(KernelId::cholesky_panel, variant_of(r.matrices), params, of_panel,
          {u32(groups), u32(std::min(most, batch - first)), 1}, [&](TemplateVariables& v) {
            set_numbers(v, r.matrices);
            v["GROUP"] = std::int64_t{group_size};
          });
    }
  };
  // A -= L conj(L)^T for the columns from `next` to `end`, by those of L from k on.
  const auto update = [&](Size k, Size next, Size end) {
    update_matrices(nullptr, whole.from(next, k), x, whole.from(next, k).transposed(),
                    whole.from(next, next), n - next, end - next, next - k, true, {.b = true},
                    r.matrices);
  };
  // What is right of several blocks is updated by all of them at a time: that is bound by memory.
  constexpr Size wide = 128;
  for (Size start = 0; start < n; start += wide) {
    const Size end = std::min(start + wide, n);
    for (Size k = start; k < end; k += block) {
      const Size next = std::min(k + block, end);
      panel(k, next - k);
      if (next < end) update(k, next, end);
    }
    if (end < n) update(start, end, n);
  }
  if (r.upper) triangle(nullptr, false, true);
}

}  // namespace tilewright::gpu
