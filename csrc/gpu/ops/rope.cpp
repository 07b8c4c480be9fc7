#include "core/ops/rope.hpp"

#include <vector>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_rope(const RopeRequest& r) {
  require("rope", r.dtype);
  const bool in_place = r.x == r.output;
  const Size half = r.head_dim / 2;
  const Size pairs = r.rows * r.seq * half;
  const struct {
    std::uint32_t pairs, half_dim, seq, position;
  } params{u32(pairs), u32(half), u32(r.seq), u32(r.position)};
  const std::uint64_t table = bytes_of((r.position + r.seq) * half, r.dtype);
  std::vector<Binding> bindings;
  if (!in_place) bindings.push_back(bind("rope", r.x, bytes_of(2 * pairs, r.dtype)));
  bindings.push_back(bind("rope", r.cos, table));
  bindings.push_back(bind("rope", r.sin, table));
  bindings.push_back(bind("rope", r.output, bytes_of(2 * pairs, r.dtype)));
  run(KernelId::rope, half_bit(r.dtype) * 2 + (in_place ? 1 : 0), params, bindings,
      cover(static_cast<std::uint64_t>(pairs), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["IN_PLACE"] = std::int64_t{in_place};
      });
}

}  // namespace tilewright::gpu
