#include <algorithm>
#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_weighted_sum(const WeightedSumRequest& r) {
  require("weighted_sum", r.dtype);
  const Size n = r.heads * r.dim;
  const struct {
    std::uint32_t n, count, dim, share;
  } params{u32(n), u32(r.count), u32(r.dim), u32(r.heads / r.kv_heads)};
  const std::array<Binding, 3> bindings{
      bind("weighted_sum", r.weights, bytes_of(r.heads * r.count, r.dtype)),
      bind("weighted_sum", r.rows, bytes_of(r.kv_heads * r.count * r.dim, r.dtype)),
      bind("weighted_sum", r.output, bytes_of(n, r.dtype))};
  const auto columns = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::bit_ceil(static_cast<std::size_t>(r.dim)), 32));
  run(KernelId::weighted_sum, columns * 2 + half_bit(r.dtype), params, bindings,
      cover(static_cast<std::uint64_t>(n), columns), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["COLUMNS"] = std::int64_t{columns};
      });
}

}  // namespace tilewright::gpu
