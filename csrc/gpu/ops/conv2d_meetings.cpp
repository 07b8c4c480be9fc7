#include <string>
#include <vector>

#include "core/convolution.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::conv_meetings(std::string_view op, const ConvSums& s) {
  std::vector<std::uint32_t> tables;
  tables.reserve(3 * (s.rows.of.size() + s.columns.of.size()));
  for (const Meetings* axis : {&s.rows, &s.columns}) {
    for (const Meeting& m : axis->of)
      tables.insert(tables.end(), {u32(m.a), u32(m.b), u32(m.count)});
  }
  const auto bytes = std::as_bytes(std::span(tables));
  const AllocationRef scratch = memory_->written_once(op, bytes.size());
  memory_->with_room([&] { device_->upload(buffer_of(scratch), 0, bytes); });

  const Size n = s.planes * s.height() * s.width();
  std::vector<Binding> bindings{bind(op, s.a.buffer, bytes_of(s.a.elements(), s.dtype)),
                                bind(op, s.b.buffer, bytes_of(s.b.elements(), s.dtype)),
                                bind(op, scratch, bytes.size()),
                                bind(op, s.result, bytes_of(n, s.dtype))};
  const bool bias = s.bias != nullptr;
  if (bias) bindings.push_back(bind(op, s.bias, bytes_of(s.minors, s.dtype)));
  struct Operand {
    std::uint32_t major, minor, group, step, height, width;
  };
  const auto params_of = [](const ConvSums::Operand& x) {
    return Operand{u32(x.major), u32(x.minor),  u32(x.group),
                   u32(x.step),  u32(x.height), u32(x.width)};
  };
  const struct {
    std::uint32_t n, height, width, minors, planes_of_group, groups, depth;
    Operand a, b;
    std::uint32_t a_row_step, b_row_step, a_column_step, b_column_step;
    float slope;
    std::uint32_t zero;
  } params{u32(n), u32(s.height()), u32(s.width()), u32(s.minors), u32(s.planes_of_group),
           u32(s.groups), u32(s.depth), params_of(s.a), params_of(s.b),
           // One that is negative wraps around, as do the sums that it enters.
           u32(s.rows.a_step), u32(s.rows.b_step), u32(s.columns.a_step), u32(s.columns.b_step),
           s.slope, 0};
  run(KernelId::conv2d_meetings,
      static_cast<std::uint32_t>(s.activation) * 4 + half_bit(s.dtype) * 2 + (bias ? 1 : 0), params,
      bindings, cover(static_cast<std::uint64_t>(n), group_size), [&](TemplateVariables& v) {
        set_common(v, s.dtype);
        v["BIAS"] = std::int64_t{bias};
        v["ACTIVATION"] = std::string(to_string(s.activation));
      });
}

}  // namespace tilewright::gpu
