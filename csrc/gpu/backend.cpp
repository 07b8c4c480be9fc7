#include "gpu/backend.hpp"

#include <algorithm>
#include <limits>
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

constexpr std::size_t kept_programs = 1024;

std::uint64_t cache_limit(const Config& config, DeviceKind kind) {
  if (config.cache_limit) return static_cast<std::uint64_t>(*config.cache_limit);
  return kind == DeviceKind::discrete ? ~std::uint64_t{0} : most_cached_in_host_memory();
}

/// What the driver says of a GPU. A processor that stands for one runs what the measured GPU would.
Size usual_units(DeviceKind kind, const DeviceLimits& limits) {
  constexpr Size of_integrated = 16;
  const bool is_gpu = kind == DeviceKind::discrete || kind == DeviceKind::integrated;
  if (is_gpu && limits.compute_units != 0) return limits.compute_units;
  return kind == DeviceKind::integrated ? of_integrated : measured_units;
}

}  // namespace

GpuBackend::GpuBackend(std::string_view name, Config config, OpenDevice open)
    : Backend(name, std::move(config)), open_(std::move(open)) {}

GpuBackend::~GpuBackend() { shut_down(); }

void GpuBackend::do_init() {
  check_kernel_folder();
  const std::shared_ptr<Device> device = open_(config(), DeviceUse::work);
  recorder_ = std::make_shared<Recorder>();
  const DeviceInfo info = device->info();
  device_.emplace(device, *recorder_,
                  config().compute_units.value_or(usual_units(info.kind, device->limits())),
                  static_cast<std::uint64_t>(
                      config().max_binding_size.value_or(std::numeric_limits<Size>::max())));
  memory_ =
      std::make_shared<BufferPool>(device, budget(), cache_limit(config(), info.kind), recorder_);
  kernels_.emplace(*device, config().enable_pipeline_cache);
  programs_.emplace(*device, config().enable_pipeline_cache ? kept_programs : 0);
  elementwise_group_ = static_cast<std::uint32_t>(std::min<Size>(
      config().preferred_workgroup_size.value_or(group_size), device_->limits().max_group_size));
  plans_.emplace();
  faults_.emplace(*device_, *memory_);
  choices_ = std::make_shared<Choices>(
      choice_points(), ChoiceFile({{"device", text(info.name, " (", to_string(info.kind), ")")},
                                   {"driver", info.driver},
                                   {"version", version()},
                                   {"kernels", device_->language() == KernelLanguage::spirv
                                                   ? spirv_kernels_fingerprint()
                                                   : kernel_files_fingerprint()}}));
}

void GpuBackend::do_close() noexcept {
  if (recorder_) recorder_->end();
  faults_.reset();
  plans_.reset();
  choices_.reset();
  programs_.reset();
  kernels_.reset();
  trial_device_.reset();
  memory_.reset();
  device_.reset();
  recorder_.reset();
}

DeviceInfo GpuBackend::do_device() const { return device_->info(); }

Capabilities GpuBackend::do_capabilities() const {
  const DeviceInfo info = device_->info();
  Capabilities c;
  c.dtypes = {DType::float32};
  if (device_->limits().float16) c.dtypes.push_back(DType::float16);
  for (std::size_t i = 0; i < EnumNames<DType>::values.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (lacking_feature(dtype).empty()) c.storage_dtypes.push_back(dtype);
  }
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
  constexpr std::uint32_t cache_line = 128;
  h.preferred_alignment = std::max(device_->limits().binding_alignment, cache_line);
  h.preferred_workgroup_size = elementwise_group_;
  h.concurrency = std::max(device_->limits().compute_units, 1u);
  return h;
}

void GpuBackend::do_synchronize() {
  device_->wait();
  faults_->check();
}

std::uint64_t GpuBackend::do_mark() {
  faults_->read_later();
  return device_->mark();
}

bool GpuBackend::do_reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline) {
  const bool reached = device_->reach(place, deadline);
  if (reached) faults_->check_read(place);
  return reached;
}

void GpuBackend::do_flush() { device_->flush(); }

std::shared_ptr<Choices> GpuBackend::do_choices() const { return choices_; }

std::shared_ptr<Allocation> GpuBackend::do_alloc(std::uint64_t bytes) {
  return memory_->allocate(bytes);
}

std::shared_ptr<Allocation> GpuBackend::do_alloc_at_hand(std::uint64_t bytes) {
  return memory_->at_hand(bytes);
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
  const std::uint64_t room = budget()->room();
  if (room < bytes / 4) plans_by_room();
  return std::min(bytes / 4, room);
}

Size GpuBackend::affordable(Size pieces, std::uint64_t bytes_of_piece) const {
  const std::uint64_t piece = std::max<std::uint64_t>(bytes_of_piece, 1);
  // They lie side by side in one binding.
  const std::uint64_t bound =
      std::max<std::uint64_t>(device_->limits().max_binding_bytes / piece, 1);
  const Size wanted = static_cast<Size>(std::min(static_cast<std::uint64_t>(pieces), bound));
  const std::uint64_t most = budget()->room() / piece;
  if (most >= static_cast<std::uint64_t>(wanted)) return wanted;
  plans_by_room();
  return std::max<Size>(static_cast<Size>(most), 1);
}

void GpuBackend::plans_by_room() const {
  if (PlanCapture* const capture = recorder_->capture()) capture->drop();
}

std::uint64_t GpuBackend::do_cached_bytes() const { return memory_->cached_bytes(); }

void GpuBackend::lacks_float16(std::string_view op) const {
  throw Unsupported(
      text(op, ": ", device_->info().name, " has no float16 in kernels (shader-f16); use float32"));
}

std::string_view GpuBackend::lacking_feature(DType dtype) const {
  const DeviceLimits& limits = device_->limits();
  const ComputeClass kind = class_of(dtype);
  const bool whole = kind == ComputeClass::i64 || kind == ComputeClass::u64;
  if (whole && !limits.int64) return "int64";
  return kind == ComputeClass::f64 && !limits.float64 ? "float64" : "";
}

Binding GpuBackend::bind(std::string_view op, const BufferRange& range,
                         std::uint64_t needed) const {
  const std::uint64_t most = device_->limits().max_binding_bytes;
  if (needed > most) {
    throw Unsupported(text(op, ": an argument of ", needed, " bytes, but one binding of ",
                           device_->info().name, " holds ", most,
                           "; split the work into smaller calls"));
  }
  return window(range, 0);
}

std::uint64_t GpuBackend::do_cache_limit() const { return memory_->cache_limit(); }

void GpuBackend::do_trim() { memory_->trim(); }

}  // namespace tilewright::gpu
