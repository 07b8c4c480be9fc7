#include "gpu/backend.hpp"

#include <algorithm>
#include <utility>

#include "core/host_memory.hpp"
#include "core/text.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/kernel_files.hpp"
#include "gpu/plan.hpp"
#include "gpu/spirv_kernels.hpp"
#include "tilewright/version.hpp"

namespace tilewright::gpu {

namespace {

std::uint64_t cache_limit(const Config& config, DeviceKind kind) {
  if (config.cache_limit) return static_cast<std::uint64_t>(*config.cache_limit);
  return kind == DeviceKind::discrete ? ~std::uint64_t{0} : most_cached_in_host_memory();
}

}  // namespace

GpuBackend::GpuBackend(std::string_view name, Config config, OpenDevice open)
    : Backend(name, std::move(config)), open_(std::move(open)) {}

GpuBackend::~GpuBackend() { close(); }

void GpuBackend::do_init() {
  check_kernel_folder();
  device_ = open_(config());
  const DeviceInfo info = device_->info();
  memory_ = std::make_shared<BufferPool>(device_, budget(), cache_limit(config(), info.kind));
  kernels_.emplace(*device_, config().enable_pipeline_cache);
  elementwise_group_ = static_cast<std::uint32_t>(std::min<Size>(
      config().preferred_workgroup_size.value_or(group_size), device_->limits().max_group_size));
  choices_ = std::make_shared<Choices>(
      choice_points(), ChoiceFile({{"device", text(info.name, " (", to_string(info.kind), ")")},
                                   {"driver", info.driver},
                                   {"version", version()},
                                   {"kernels", device_->language() == KernelLanguage::spirv
                                                   ? spirv_kernels_fingerprint()
                                                   : kernel_files_fingerprint()}}));
}

void GpuBackend::do_close() noexcept {
  choices_.reset();
  kernels_.reset();
  trial_device_.reset();
  memory_.reset();
  device_.reset();
}

DeviceInfo GpuBackend::do_device() const { return device_->info(); }

Capabilities GpuBackend::do_capabilities() const {
  const DeviceInfo info = device_->info();
  Capabilities c;
  c.dtypes = {DType::float32};
  if (device_->limits().float16) c.dtypes.push_back(DType::float16);
  c.limits = info.limits;
  if (const std::uint32_t lanes = device_->subgroup_size()) c.limits["subgroup_size"] = lanes;
  c.features = info.features;
  c.memory_bytes = info.memory_bytes;
  c.max_buffer_bytes = device_->limits().max_buffer_bytes;
  c.compute_units = device_->limits().compute_units;
  return c;
}

PerformanceHints GpuBackend::do_performance_hints() const {
  PerformanceHints h;
  h.simd_width = std::max(device_->subgroup_size(), 1u);
  h.preferred_alignment = device_->limits().binding_alignment;
  h.preferred_workgroup_size = elementwise_group_;
  h.concurrency = std::max(device_->limits().compute_units, 1u);
  return h;
}

void GpuBackend::do_synchronize() { device_->wait(); }

std::shared_ptr<Choices> GpuBackend::do_choices() const { return choices_; }

std::shared_ptr<Allocation> GpuBackend::do_alloc(std::uint64_t bytes) {
  return memory_->allocate(bytes);
}

std::uint64_t GpuBackend::do_max_buffer_bytes() const { return device_->limits().max_buffer_bytes; }

std::uint64_t GpuBackend::do_memory_limit() const {
  const std::uint64_t memory = device_->limits().memory_bytes;
  return memory == 0 ? ~std::uint64_t{0} : memory;
}

std::uint64_t GpuBackend::scratch_limit() const {
  std::uint64_t bytes = do_memory_limit();
  if (config().memory_limit) {
    bytes = std::min(bytes, static_cast<std::uint64_t>(*config().memory_limit));
  }
  return std::min(bytes / 4, budget()->room());
}

Size GpuBackend::affordable(Size pieces, std::uint64_t bytes_of_piece) const {
  const std::uint64_t most = budget()->room() / std::max<std::uint64_t>(bytes_of_piece, 1);
  return most < static_cast<std::uint64_t>(pieces) ? std::max<Size>(static_cast<Size>(most), 1)
                                                   : pieces;
}

std::uint64_t GpuBackend::do_cached_bytes() const { return memory_->cached_bytes(); }

void GpuBackend::require(std::string_view op, DType dtype) const {
  if (dtype == DType::float16 && !device_->limits().float16) {
    throw Unsupported(text(op, ": ", device_->info().name,
                           " has no float16 in kernels (shader-f16); use float32"));
  }
}

Binding GpuBackend::bind(std::string_view op, const AllocationRef& allocation,
                         std::uint64_t needed) const {
  DeviceBuffer& buffer = buffer_of(allocation);
  const std::uint64_t most = device_->limits().max_binding_bytes;
  if (needed > most) {
    throw Unsupported(text(op, ": an argument of ", needed, " bytes, but one binding of ",
                           device_->info().name, " holds ", most,
                           "; split the work into smaller calls"));
  }
  return {&buffer, 0, std::min(buffer.bytes(), most)};
}

std::uint64_t GpuBackend::window_bytes() const {
  constexpr std::uint64_t coarse = 1024;
  return device_->limits().max_binding_bytes / coarse * coarse;
}

Binding GpuBackend::window(const AllocationRef& allocation, std::uint64_t offset) const {
  DeviceBuffer& buffer = buffer_of(allocation);
  return {&buffer, offset, std::min(buffer.bytes() - offset, device_->limits().max_binding_bytes)};
}

Binding GpuBackend::elements(const AllocationRef& allocation, std::uint64_t offset, Size n,
                             DType dtype) const {
  if (!counted(n)) return window(allocation, offset);
  return {&buffer_of(allocation), offset, bytes_of(n, dtype)};
}

std::array<std::uint32_t, 3> GpuBackend::cover(std::uint64_t items, std::uint64_t per_group) const {
  return row_grid((items + per_group - 1) / per_group, device_->limits().max_groups);
}

std::uint64_t GpuBackend::do_cache_limit() const { return memory_->cache_limit(); }

void GpuBackend::do_trim() { memory_->trim(); }

}  // namespace tilewright::gpu
