#include "core/ops/cross_entropy_backward.hpp"

#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/class_lines.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_cross_entropy_backward(const EntropyGradientRequest& r) {
  constexpr std::string_view op = "cross_entropy_backward";
  const DeviceLimits& limits = device_->limits();
  require_class_lines(op, r, lacking_feature(r.dtype), device_->info(), limits.compiles_templates);
  ClassForm form = class_form(r, limits.compiles_templates, limits.planned_units);
  const bool is_packed = floats_of_item(r.dtype) == 2;
  const bool pairs = is_packed && !form.rows && r.inner % 2 == 0;
  // Words of 16 bits are read once more where lines are not whole vectors.
  if (is_packed && !form.vector && form.held) {
    form.held = false;
    form.chunk = 2;
  }
  const Binding scores = bind(op, r.scores, bytes_of(r.elements(), r.dtype));
  const Binding targets = bind(op, r.targets, bytes_of(r.lines(), r.target_dtype));
  const Binding weights = r.weights ? bind(op, r.weights, bytes_of(r.classes, r.dtype)) : scores;
  const Binding grad =
      r.grad ? bind(op, r.grad, bytes_of(r.is_joined ? 1 : r.lines(), r.dtype)) : scores;
  const Binding result = bind(op, r.grad_scores, bytes_of(r.elements(), r.dtype));
  const auto ignored = words_of(r.ignored);
  const std::uint32_t name = faults_->name(op);
  AllocationRef scratch;
  Binding totals = scores;
  std::uint32_t parts = 0;
  if (r.is_mean) {
    constexpr Size most_parts = 256, lines_of_part = 16 * group_size;
    parts = u32(std::clamp<Size>((r.lines() + lines_of_part - 1) / lines_of_part, 1, most_parts));
    const std::uint64_t bytes = bytes_of_sums(std::max<Size>(parts, 2), r.dtype);
    scratch = memory_->scratch(op, bytes);
    totals = bind(op, scratch, bytes);
    const std::array<std::uint32_t, 7> params{
        u32(r.lines()), u32(r.classes), r.axis, name, ignored[0], ignored[1], parts * group_size};
    const std::uint32_t variant = static_cast<std::uint32_t>(r.dtype) << 2 |
                                  (form.wide_targets ? 2u : 0u) | (form.has_weights ? 1u : 0u);
    run(KernelId::cross_entropy_total, variant, params,
        std::array{targets, form.has_weights ? weights : targets, totals, faults_->binding()},
        cover(parts, 1), [&](TemplateVariables& v) { form.fill_targets(v); });
  }
  const auto smoothing = words_of(r.smoothing, r.dtype), factor = words_of(r.factor, r.dtype);
  const std::uint32_t grads = !r.grad ? 0 : r.is_joined ? 1 : 2;
  const std::array<std::uint32_t, 13> params{
      u32(r.lines()), u32(r.classes), u32(r.inner), r.axis,    name,  ignored[0], ignored[1],
      smoothing[0],   smoothing[1],   factor[0],    factor[1], parts, 0};
  std::uint32_t variant = form.variant();
  for (const bool bit : {r.is_mean, pairs}) variant = variant << 1 | (bit ? 1u : 0u);
  run(KernelId::cross_entropy_backward, variant << 2 | grads, params,
      std::array{scores, targets, weights, grad, totals, result, faults_->binding()},
      cover(static_cast<std::uint64_t>(r.lines()), form.lines_of_group()),
      [&](TemplateVariables& v) {
        form.fill(v);
        v["GRAD"] = std::int64_t{grads};
        v["MEAN"] = std::int64_t{r.is_mean};
        v["PAIRS"] = std::int64_t{pairs};
      });
  faults_->may_be();
}

}  // namespace tilewright::gpu
