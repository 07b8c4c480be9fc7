#include "core/ops/rope.hpp"

#include <vector>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_rope(const RopeRequest& r) {
  require("rope", r.dtype);
  const bool in_place = r.in_place();
  const Size half = r.rotary_dim / 2;
  const bool plain = r.contiguous() && r.rotary_dim == r.head_dim && !r.positions &&
                     r.pairing == RopePairing::halves && !r.inverse;
  const Size rows = r.batch * r.heads * r.seq;
  const auto place = [&](const BufferRange& range, const HeadRows& of) {
    return bind("rope", range, bytes_of(extent(of, r.batch, r.heads, r.seq, r.head_dim), r.dtype));
  };
  const Size table_rows = r.positions ? r.table_rows : r.position + r.seq;
  const std::uint64_t table = bytes_of(table_rows * half, r.dtype);
  std::vector<Binding> bindings;
  if (!in_place) bindings.push_back(place(r.x, r.x_rows));
  bindings.push_back(bind("rope", r.cos, table));
  bindings.push_back(bind("rope", r.sin, table));
  bindings.push_back(place(r.output, r.output_rows));
  const std::uint32_t variant = half_bit(r.dtype) * 2 + (in_place ? 1 : 0);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["IN_PLACE"] = std::int64_t{in_place};
    v["GENERAL"] = std::int64_t{!plain};
    v["POSITIONS"] = std::int64_t{static_cast<bool>(r.positions)};
  };
  if (plain) {
    const struct {
      std::uint32_t pairs, half_dim, seq, position;
    } params{u32(rows * half), u32(half), u32(r.seq), u32(r.position)};
    return run(KernelId::rope, variant, params, bindings,
               cover(static_cast<std::uint64_t>(rows * half), group_size), fill);
  }
  if (r.positions) {
    const Size count = r.of_places ? r.batch * r.seq : r.batch;
    bindings.push_back(bind("rope", r.positions, bytes_of(count, DType::int32)));
  }
  // Of each row the pairs, and what is copied by twos.
  const Size items = half + (in_place ? 0 : (r.head_dim - r.rotary_dim + 1) / 2);
  const bool halves = r.pairing == RopePairing::halves;
  const struct {
    std::uint32_t n, items, half_dim, head_dim, heads, seq, position, table_rows;
    std::uint32_t step, apart, of_sequence, of_place, place_step;
    float direction;
    std::uint32_t not_a_number;
    std::uint32_t x_start, x_batch, x_head, x_seq, o_start, o_batch, o_head, o_seq;
  } params{u32(rows * items),
           u32(items),
           u32(half),
           u32(r.head_dim),
           u32(r.heads),
           u32(r.seq),
           u32(r.position),
           u32(table_rows),
           halves ? 1u : 2u,
           halves ? u32(half) : 1u,
           r.of_places ? u32(r.seq) : 1u,
           r.of_places ? 1u : 0u,
           r.of_places ? 0u : 1u,
           r.inverse ? -1.0f : 1.0f,
           0x7fc00000u,
           u32(r.x_rows.start),
           u32(r.x_rows.batch),
           u32(r.x_rows.head),
           u32(r.x_rows.seq),
           u32(r.output_rows.start),
           u32(r.output_rows.batch),
           u32(r.output_rows.head),
           u32(r.output_rows.seq)};
  run(KernelId::rope, (r.positions ? 8 : 4) + variant, params, bindings,
      cover(static_cast<std::uint64_t>(rows * items), group_size), fill);
}

}  // namespace tilewright::gpu
