#include "core/ops/qr.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

// Column by column: its reflection, and the columns beside it. Q is the product of the reflections,
// from the last on.
void GpuBackend::launch_qr(const QrRequest& r) {
  constexpr std::string_view op = "qr";
  constexpr Size lanes = 16;
  require_factors(op, r.matrices);
  const Size batch = r.matrices.batch, count = r.reflections;
  const Size of_q = r.m * r.columns * batch, of_r = r.columns * r.n * batch;
  check_groups(op, (std::max(r.n, r.columns) + lanes - 1) / lanes);
  const std::uint64_t bytes = bytes_of(r.m * r.n * batch, r.matrices);
  const std::uint64_t bytes_of_factors = bytes_of(count * batch, r.matrices);
  const Binding q = bind(op, r.q, bytes_of(of_q, r.matrices));
  const Binding upper = bind(op, r.r, bytes_of(of_r, r.matrices));
  const AllocationRef copy = memory_->scratch(op, bytes);
  const AllocationRef room = memory_->scratch(op, bytes_of_factors);
  const Binding x = bind(op, BufferRange(copy), bytes);
  const Binding factors = bind(op, BufferRange(room), bytes_of_factors);
  device_->copy(buffer_of(copy), 0, buffer_of(r.a), r.a.offset, bytes);
  const auto fill = [&](TemplateVariables& v) {
    set_numbers(v, r.matrices);
    v["GROUP"] = std::int64_t{group_size};
  };
  const auto reflect = [&](Size at, Size from, Size columns, bool same) {
    const Size groups = (columns - from + lanes - 1) / lanes;
    const Size most = device_->limits().max_groups;
    std::vector<Binding> bindings{x, factors};
    if (!same) bindings.push_back(q);
    for (Size first = 0; groups > 0 && first < batch; first += most) {
      const std::array<std::uint32_t, 7> params{u32(r.m),  u32(r.n),     u32(at),   u32(count),
                                                u32(from), u32(columns), u32(first)};
      const std::array<std::uint32_t, 3> grid{u32(groups), u32(std::min(most, batch - first)), 1};
      run(KernelId::qr_reflect, variant_of(r.matrices, same ? 1 : 0), params, bindings, grid,
          [&](TemplateVariables& v) {
            fill(v);
            v["SAME"] = std::int64_t{same};
          });
    }
  };
  for (Size at = 0; at < count; ++at) {
    const std::array<std::uint32_t, 5> params{u32(r.m), u32(r.n), u32(at), u32(count), u32(batch)};
    const std::array<Binding, 2> both{x, factors};
    run(KernelId::qr_column, variant_of(r.matrices), params, both,
        cover(static_cast<std::uint64_t>(batch), 1), fill);
    reflect(at, at + 1, r.n, true);
  }
  const std::array<std::uint32_t, 5> params{u32(r.m), u32(r.n), u32(r.columns), u32(of_q),
                                            u32(of_r)};
  const std::array<Binding, 3> parts{x, q, upper};
  run(KernelId::qr_parts, variant_of(r.matrices), params, parts,
      cover(static_cast<std::uint64_t>(std::max(of_q, of_r)), group_size), fill);
  for (Size at = count; at-- > 0;) reflect(at, at, r.columns, false);
}

}  // namespace tilewright::gpu
