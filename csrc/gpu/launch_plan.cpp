#include "gpu/launch_plan.hpp"

#include <optional>
#include <utility>

#include "core/program/program_data.hpp"
#include "gpu/backend.hpp"

namespace tilewright::gpu {

namespace {
thread_local PlanCapture* capture_of_thread = nullptr;
}

PlanCapture::PlanCapture(Recorder& recorder, Faults& faults, std::span<const OperandPlace> operands)
    : recorder_(recorder), faults_(faults), operands_(operands) {
  recorder_.watch();
  capture_of_thread = this;
}

PlanCapture::~PlanCapture() {
  capture_of_thread = nullptr;
  recorder_.unwatch();
}

PlanCapture* PlanCapture::of_thread() noexcept { return capture_of_thread; }

void PlanCapture::note(const Launch& launch) {
  if (!is_whole_) return;
  const auto slot_of = [&](const Binding& binding) -> std::optional<LaunchPlan::Slot> {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].buffer != binding.buffer) continue;
      return LaunchPlan::Slot{static_cast<std::uint32_t>(i), binding.offset - operands_[i].offset,
                              binding.bytes};
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      if (scratch_[i].buffer != binding.buffer) continue;
      return LaunchPlan::Slot{static_cast<std::uint32_t>(operands_.size() + i), binding.offset,
                              binding.bytes};
    }
    if (!faults_.holds(binding.buffer)) return std::nullopt;
    plan_->may_fault = true;
    return LaunchPlan::Slot{LaunchPlan::of_faults, binding.offset, binding.bytes};
  };
  if (launch.bindings.size() > LaunchPlan::most_bindings ||
      launch.params.size() > LaunchPlan::most_params) {
    return drop();
  }
  for (const Binding& binding : launch.bindings) {
    const auto slot = slot_of(binding);
    if (!slot) return drop();
    plan_->slots.push_back(*slot);
  }
  plan_->steps.push_back({launch.pipeline->shared_from_this(), launch.grid, launch.bindings.size(),
                          plan_->params.size(), launch.params.size()});
  plan_->params.insert(plan_->params.end(), launch.params.begin(), launch.params.end());
}

void PlanCapture::note_scratch(const AllocationRef& taken) {
  // A plan holds all of its scratch at a time.
  const auto gone = [](const Scratch& one) { return one.taken.expired(); };
  if (scratch_.size() == LaunchPlan::most_scratch || std::ranges::any_of(scratch_, gone)) {
    return drop();
  }
  scratch_.push_back({&buffer_of(taken), taken});
  plan_->scratch.push_back(taken->bytes());
}

std::shared_ptr<LaunchPlan> PlanCapture::take() {
  return is_whole_ ? std::exchange(plan_, nullptr) : nullptr;
}

[[gnu::always_inline]] inline void GpuBackend::run_steps(const LaunchPlan& plan,
                                                         std::span<const OperandPlace> operands,
                                                         std::span<const AllocationRef> scratch,
                                                         std::span<const std::uint32_t> numbers) {
  std::array<Binding, LaunchPlan::most_bindings> bindings;
  std::array<std::byte, LaunchPlan::most_params> changed;
  DeviceBuffer* const of_faults = plan.may_fault ? faults_->binding().buffer : nullptr;
  const LaunchPlan::Slot* slot = plan.slots.data();
  for (const LaunchPlan::Step& step : plan.steps) {
    for (std::size_t i = 0; i < step.slots; ++i, ++slot) {
      DeviceBuffer* buffer = nullptr;
      std::uint64_t start = slot->offset;
      if (slot->place < operands.size()) {
        const OperandPlace& operand = operands[slot->place];
        buffer = const_cast<DeviceBuffer*>(operand.buffer);
        start += operand.offset;
      } else if (slot->place == LaunchPlan::of_faults) {
        buffer = of_faults;
      } else {
        buffer = &buffer_of(scratch[slot->place - operands.size()]);
      }
      bindings[i] = {buffer, start, std::min(slot->bytes, buffer->bytes() - start)};
    }
    auto params = std::span(plan.params).subspan(step.params, step.params_bytes);
    if (!numbers.empty()) {
      std::ranges::copy(params, changed.begin());
      const auto last = std::as_bytes(numbers);
      std::ranges::copy(last, changed.begin() + (params.size() - last.size()));
      params = std::span(changed).first(params.size());
    }
    device_->launch(
        {step.pipeline.get(), std::span(bindings).first(step.slots), params, step.grid, true});
  }
  if (plan.may_fault) faults_->may_be();
}

bool GpuBackend::run_plan(std::string_view op, const LaunchPlan& plan,
                          std::span<const OperandPlace> operands,
                          std::span<const std::uint32_t> numbers) {
  if (plan.scratch.empty()) {
    run_steps(plan, operands, {}, numbers);
    return true;
  }
  std::array<AllocationRef, LaunchPlan::most_scratch> scratch;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    scratch[i] = memory_->try_scratch(op, plan.scratch[i]);
    if (!scratch[i]) return false;
  }
  run_steps(plan, operands, scratch, numbers);
  return true;
}

bool GpuBackend::is_of(const LaunchPlan& plan, Programs programs) {
  return std::ranges::equal(plan.programs, programs,
                            [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

bool GpuBackend::may_plan(const PlanKey& key) const {
  return key.fits() && config().enable_pipeline_cache && !choices_->tools_are_at_work();
}

}  // namespace tilewright::gpu
