#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"

// Kernels of a user's own.
namespace tilewright::gpu {

namespace {

class GpuKernel final : public CompiledKernel {
 public:
  GpuKernel(std::unique_ptr<Pipeline> pipeline, const DeviceLimits& limits)
      : CompiledKernel(pipeline->info(), {limits.max_binding_bytes, limits.binding_alignment,
                                          limits.one_use_of_buffer, limits.max_groups}),
        pipeline_(std::move(pipeline)) {}
  const Pipeline& pipeline() const { return *pipeline_; }

 private:
  std::shared_ptr<Pipeline> pipeline_;
};

}  // namespace

void GpuBackend::try_kernel(const KernelDescription& kernel) {
  std::lock_guard lock(trial_mutex_);
  if (!trial_device_) trial_device_ = open_(config(), DeviceUse::trial);
  try {
    trial_device_->create_pipeline(kernel);
    trial_device_->wait();
  } catch (const DeviceLost& lost) {
    trial_device_.reset();
    throw KernelError(text(kernel.name, " cannot be compiled: the device that tried it was lost (",
                           lost.what(), "); the backend's own is as before"));
  }
}

std::shared_ptr<CompiledKernel> GpuBackend::do_create_kernel(const KernelSource& source) {
  KernelDescription kernel;
  kernel.name = source.name;
  kernel.code = {source.code, {source.name}, {}};
  kernel.entry = source.entry;
  kernel.trusted = source.trusted;
  kernel.constants_by_name = source.constants;
  if (!kernel.trusted && !device_->limits().checks_kernels) {
    throw Unsupported(text(kernel.name,
                           ": this backend was opened with kernel_checks false, so it keeps no "
                           "kernel within its buffers; pass trusted=True for code that does it by "
                           "itself, or open one with checks"));
  }
  if (device_->limits().tries_kernels) try_kernel(kernel);
  return std::make_shared<GpuKernel>(
      memory_->with_room([&] { return device_->create_pipeline(kernel); }), device_->limits());
}

void GpuBackend::do_launch_kernel(const LaunchRequest& r) {
  std::vector<Binding> bindings;
  bindings.reserve(r.buffers.size());
  for (const BufferRange& range : r.buffers) {
    constexpr std::uint64_t word = 4;
    bindings.push_back({&buffer_of(range), range.offset, (range.bytes + word - 1) / word * word});
  }
  device_->launch(
      {&static_cast<const GpuKernel&>(*r.kernel).pipeline(), bindings, r.params, r.grid});
}

}  // namespace tilewright::gpu
