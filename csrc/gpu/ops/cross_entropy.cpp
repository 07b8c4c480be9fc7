#include "core/ops/cross_entropy.hpp"

#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/class_lines.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_cross_entropy(const CrossEntropyRequest& r) {
  constexpr std::string_view op = "cross_entropy";
  const DeviceLimits& limits = device_->limits();
  require_class_lines(op, r, lacking_feature(r.dtype), device_->info(), limits.compiles_templates);
  const bool is_packed = floats_of_item(r.dtype) == 2;
  const bool is_ended = r.is_joined || is_packed;
  const ClassForm form = class_form(r, limits.compiles_templates, limits.planned_units);
  const Size groups = (r.lines() + form.lines_of_group() - 1) / form.lines_of_group();
  const Size numbers = r.is_joined ? 2 * groups : r.lines();
  const std::uint64_t numbers_bytes = bytes_of_sums(std::max<Size>(numbers, 2), r.dtype);
  const Binding losses = bind(op, r.losses, bytes_of(r.is_joined ? 1 : r.lines(), r.dtype));
  AllocationRef scratch;
  if (is_ended) scratch = memory_->scratch(op, numbers_bytes);
  const Binding found = is_ended ? bind(op, scratch, numbers_bytes) : losses;
  if (r.lines() != 0) {
    const Binding scores = bind(op, r.scores, bytes_of(r.elements(), r.dtype));
    const std::array<Binding, 5> bindings{
        scores, bind(op, r.targets, bytes_of(r.lines(), r.target_dtype)),
        r.weights ? bind(op, r.weights, bytes_of(r.classes, r.dtype)) : scores, found,
        faults_->binding()};
    const auto ignored = words_of(r.ignored);
    const auto smoothing = words_of(r.smoothing, r.dtype);
    const std::array<std::uint32_t, 11> params{u32(r.lines()),
                                               u32(r.classes),
                                               u32(r.inner),
                                               r.axis,
                                               faults_->name(op),
                                               ignored[0],
                                               ignored[1],
                                               smoothing[0],
                                               smoothing[1],
                                               u32(groups),
                                               0};
    run(KernelId::cross_entropy, form.variant() << 1 | (r.is_joined ? 1u : 0u), params, bindings,
        cover(static_cast<std::uint64_t>(groups), 1), [&](TemplateVariables& v) {
          form.fill(v);
          v["JOINED"] = std::int64_t{r.is_joined};
        });
    faults_->may_be();
  }
  if (!is_ended) return;
  const std::uint32_t join = r.is_mean ? 2 : r.is_joined ? 1 : 0;
  const std::array<std::uint32_t, 1> params{u32(r.is_joined ? groups : numbers)};
  run(KernelId::cross_entropy_join, static_cast<std::uint32_t>(r.dtype) << 2 | join, params,
      std::array{found, losses},
      r.is_joined ? cover(1, 1)
                  : cover(static_cast<std::uint64_t>(numbers), std::uint64_t{2} * group_size),
      [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["T"] = stored_name(r.dtype);
        v["JOIN"] = std::int64_t{join};
      });
}

}  // namespace tilewright::gpu
