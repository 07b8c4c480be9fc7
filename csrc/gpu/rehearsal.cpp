#include "core/rehearsal.hpp"

#include <memory>
#include <utility>

#include "gpu/backend.hpp"

// Ops that are planned and not run: their kernels are not compiled, operands and scratch hold no
// memory, and the launches go nowhere.
namespace tilewright::gpu {

namespace {

class GpuRehearsal final : public Rehearsal {
 public:
  explicit GpuRehearsal(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {
    recorder_->watch();
    recorder_->rehearsing().enter();
  }
  ~GpuRehearsal() override {
    recorder_->rehearsing().leave();
    recorder_->unwatch();
  }
  AllocationRef operand(std::uint64_t bytes) override {
    return std::make_shared<GpuAllocation>(bytes);
  }

 private:
  std::shared_ptr<Recorder> recorder_;
};

}  // namespace

std::unique_ptr<Rehearsal> GpuBackend::do_rehearse() {
  return std::make_unique<GpuRehearsal>(recorder_);
}

const Pipeline& GpuBackend::no_pipeline() {
  static const Pipeline none{KernelInfo{}};
  return none;
}

std::shared_ptr<const Pipeline> GpuBackend::program_pipeline(
    const std::shared_ptr<const ProgramData>& program, const ProgramForm& form) {
  if (recorder_->rehearses()) {
    program_kernel(*program, form, device_->language());
    return {std::shared_ptr<const Pipeline>(), &no_pipeline()};
  }
  return memory_->with_room([&] { return programs_->get(program, form); });
}

}  // namespace tilewright::gpu
