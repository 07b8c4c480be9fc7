#include "webgpu/device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "core/environment.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "webgpu/objects.hpp"

// Opening, failures and buffers; pipelines.cpp has kernels, stream.cpp launches and their times,
// transfers.cpp copies from and to the host.
namespace tilewright::webgpu {

namespace {

constexpr std::size_t kept_bind_groups = 4096;
constexpr std::size_t kept_layouts = 64;

/// Errors come from inside the call that has them; workgroup memory is left as it is, as
/// wgpu-native leaves it.
constexpr std::array dawn_enabled{"enable_immediate_error_handling", "disable_workgroup_init"};
/// Times of launches are as the GPU has them, not rounded to tenths of a millisecond.
constexpr std::array dawn_disabled{"timestamp_quantization"};

/// The names in a list with commas.
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

void log_message(dawn::LoggingType type, WGPUStringView message, void*, void*) {
  if (!log_enabled()) return;
  const bool is_warning = type == dawn::LoggingType::warning;
  const LogLevel level = type == dawn::LoggingType::error ? LogLevel::error
                         : is_warning                     ? LogLevel::warning
                                                          : LogLevel::debug;
  log(level, text("Dawn: ", view(message)));
}

}  // namespace

Device::Device(const Adapter& adapter, const Config& config, gpu::DeviceUse use)
    : api_(*adapter.api),
      info_(adapter.info),
      raw_limits_(adapter.limits),
      fork_generation_(fork_generation()),
      instance_(adapter.instance),
      debug_(config.debug_mode),
      checks_kernels_(config.kernel_checks || config.debug_mode),
      may_have_encoder_thread_(environment_flag("TILEWRIGHT_WEBGPU_THREAD", true)) {
  if (api_.has_cache && config.enable_pipeline_cache) {
    blobs_ = std::make_unique<Blobs>(
        text(info_.name, " ", adapter.vendor, ":", adapter.device, " ", info_.driver));
  }
  open(adapter, use);
  bind_groups_ = std::make_unique<BindGroups>(api_, device_, kept_bind_groups);
  layouts_ = std::make_unique<Layouts>(api_, device_, kept_layouts);
  queue_is_empty();
}

Device::~Device() {
  if (fork_generation_ != fork_generation()) {
    // The child's copy cannot be taken apart.
    (void)bind_groups_.release();
    (void)layouts_.release();
    (void)uniforms_.release();
    (void)timestamps_.release();
    (void)helper_.release();
    (void)encoder_thread_.release();
    (void)blobs_.release();
    return;
  }
  if (device_ == nullptr) return;
  take_encoder_back();
  encoder_thread_.reset();
  encoding_.drop();
  for (WGPUCommandBuffer closed : closed_) api_.CommandBufferRelease(closed);
  await_submissions();
  for (Staging& staging : uploads_) staging.release();
  for (Staging& staging : downloads_) staging.release();
  reads_.clear([](const std::unique_ptr<Staging>& staging) { staging->release(); });
  timestamps_.reset();
  bind_groups_.reset();
  uniforms_.reset();
  layouts_.reset();
  if (failures_->lost()) {
    // To let go of a lost device ends the process, and its callbacks may still come.
    (void)failures_.release();
    (void)progress_.release();
    (void)blobs_.release();
    return;
  }
  api_.QueueRelease(queue_);
  api_.DeviceRelease(device_);
}

WGPUDevice Device::request(WGPUAdapter adapter, gpu::DeviceUse use) {
  std::vector<WGPUFeatureName> wanted;
  const auto want = [&](auto feature) {
    const auto name = static_cast<WGPUFeatureName>(feature);
    if (api_.AdapterHasFeature(adapter, name) != 0) wanted.push_back(name);
  };
  want(WGPUFeatureName_ShaderF16);
  want(WGPUFeatureName_TimestampQuery);
  const std::string more = environment("TILEWRIGHT_DAWN_TOGGLES").value_or("");
  const std::vector<std::string> named = names_in(more);
  std::vector<const char*> enabled(dawn_enabled.begin(), dawn_enabled.end());
  // What is asked of the device is checked before, and kernels from outside are tried on a device
  // that checks them. Its own checks refuse one buffer that a launch writes through two bindings.
  if (use == gpu::DeviceUse::work && !debug_) enabled.push_back("skip_validation");
  if (!checks_kernels_) enabled.push_back("disable_robustness");
  for (const std::string& name : named) enabled.push_back(name.c_str());
  dawn::Toggles toggles{{nullptr, dawn::type_toggles},
                        enabled.size(),
                        enabled.data(),
                        dawn_disabled.size(),
                        dawn_disabled.data()};
  dawn::Cache cache{};
  if (blobs_) {
    cache = blobs_->descriptor();
    toggles.chain.next = &cache.chain;
  }
  WGPUDeviceDescriptor descriptor{};
  if (api_.is_dawn()) {
    descriptor.nextInChain = &toggles.chain;
    want(dawn::feature_subgroups);
    want(dawn::feature_synchronization);
    if (!info_.matrix_shapes.empty()) want(dawn::feature_subgroup_matrix);
  } else {
    want(WGPUNativeFeature_Subgroup);
    want(WGPUNativeFeature_Immediates);
    want(WGPUNativeFeature_TimestampQueryInsidePasses);
    // The compiler ends the process over some functions of 64-bit types, as countLeadingZeros.
    if (use == gpu::DeviceUse::work) {
      want(WGPUNativeFeature_ShaderInt64);
      want(WGPUNativeFeature_ShaderF64);
    }
  }
  descriptor.requiredFeatureCount = wanted.size();
  descriptor.requiredFeatures = wanted.data();
  descriptor.requiredLimits = &raw_limits_;
  failures_->connect(descriptor);
  struct Answer {
    WGPUDevice device = nullptr;
    std::string message;
    std::atomic<bool> is_there = false;
  } answer;
  WGPURequestDeviceCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message,
                         void* out, void*) {
    auto& given = *static_cast<Answer*>(out);
    given.device = device;
    given.message = view(message);
    given.is_there = true;
  };
  api_.AdapterRequestDevice(adapter, &descriptor, callback);
  while (!answer.is_there) api_.InstanceProcessEvents(instance_);
  if (api_.is_dawn()) api_.AdapterRelease(adapter);
  if (answer.device == nullptr) {
    throw BackendUnavailable(text(info_.id, ": ", info_.name, " gave no device: ", answer.message));
  }
  return answer.device;
}

void Device::open(const Adapter& adapter, gpu::DeviceUse use) {
  const bool may_use_immediates = environment_flag("TILEWRIGHT_WEBGPU_IMMEDIATES", true);
  device_ = request(handle_for_device(adapter), use);
  encoding_ = Encoding(api_, device_);
  queue_ = api_.DeviceGetQueue(device_);
  api_.DeviceGetLimits(device_, &raw_limits_);
  limits_.max_buffer_bytes = raw_limits_.maxBufferSize / 4 * 4;
  limits_.max_binding_bytes = gpu::counted_binding_bytes(raw_limits_.maxStorageBufferBindingSize);
  limits_.binding_alignment = binding_alignment(raw_limits_);
  limits_.one_use_of_buffer = true;
  limits_.compiles_templates = true;
  limits_.counts_bindings = true;
  limits_.tries_kernels = true;
  limits_.max_groups = raw_limits_.maxComputeWorkgroupsPerDimension;
  limits_.max_group_size =
      std::min(raw_limits_.maxComputeInvocationsPerWorkgroup, raw_limits_.maxComputeWorkgroupSizeX);
  limits_.local_memory_bytes = raw_limits_.maxComputeWorkgroupStorageSize;
  limits_.max_bindings = std::min<std::uint32_t>(raw_limits_.maxStorageBuffersPerShaderStage,
                                                 BindGroups::max_bindings);
  info_.limits["max_bindings"] = limits_.max_bindings;
  limits_.max_params_bytes = Uniforms::slot_bytes;
  const auto has = [&](auto feature) {
    return api_.DeviceHasFeature(device_, static_cast<WGPUFeatureName>(feature)) != 0;
  };
  if (may_use_immediates && (api_.is_dawn() || has(WGPUNativeFeature_Immediates))) {
    immediate_bytes_ = raw_limits_.maxImmediateSize;
  }
  info_.limits["max_immediate_bytes"] = immediate_bytes_;
  if (immediate_bytes_ == 0) std::erase(info_.features, "immediates");
  limits_.float16 = has(WGPUFeatureName_ShaderF16);
  limits_.packed_dots = adapter.packed_dots;
  if (api_.is_dawn()) {
    open_dawn(adapter);
  } else {
    has_subgroups_ = has(WGPUNativeFeature_Subgroup);
    limits_.int64 = has(WGPUNativeFeature_ShaderInt64);
    limits_.float64 = limits_.int64 && has(WGPUNativeFeature_ShaderF64);
  }
  if (has_subgroups_) {
    limits_.least_subgroup = adapter.least_subgroup;
    limits_.most_subgroup = adapter.most_subgroup;
  }
  limits_.memory_bytes = info_.memory_bytes;
  limits_.packs_float32 = limits_.packs_float16 = true;
}

void Device::open_dawn(const Adapter& adapter) {
  api_.DeviceSetLoggingCallback(device_, {nullptr, log_message, nullptr, nullptr});
  has_subgroups_ = api_.DeviceHasFeature(device_, dawn::feature_subgroups) != 0;
  limits_.checks_kernels = checks_kernels_;
  if (has_subgroups_) prelude_ += "enable subgroups; diagnostic(off, subgroup_uniformity); ";
  if (api_.DeviceHasFeature(device_, dawn::feature_subgroup_matrix) != 0) {
    limits_.matrix_shapes = adapter.matrix_shapes;
    limits_.matrix_lanes = adapter.matrix_lanes;
  }
  if (immediate_bytes_ > 0) prelude_ += "requires immediate_address_space; ";
}

// Failures --------------------------------------------------------------------------------------

void Device::refuse_use() const {
  if (fork_generation_ != fork_generation()) {
    throw DeviceError(
        "webgpu: this process was forked from the one that opened the device, which cannot be used "
        "here; start the process anew (multiprocessing: spawn), or fork before the first use of "
        "webgpu");
  }
  throw DeviceLost(
      text("webgpu: ", info_.name,
           " was lost: its driver gave it up, as after a kernel without end or a reset; "
           "close() and init() again"));
}

void Device::throw_late_failure() {
  take_encoder_back();
  has_late_failure_ = false;
  std::rethrow_exception(std::exchange(late_failure_, nullptr));
}

void Device::throw_failure(std::string_view during) {
  const auto failure = failures_->take();
  if (!failure) return;
  check_alive();
  if (failure->out_of_memory) {
    throw OutOfMemory(text("webgpu: ", during, ": the device is full; free some buffers"), 0);
  }
  throw DeviceError(text("webgpu: ", during, ": ", failure->message));
}

// Buffers -----------------------------------------------------------------------------------------

WGPUBuffer Device::raw_buffer(std::uint64_t bytes, WGPUBufferUsage usage, const char* label) {
  WGPUBufferDescriptor descriptor{};
  descriptor.label = view(std::string_view(label));
  descriptor.usage = usage;
  descriptor.size = bytes;
  WGPUBuffer buffer = api_.DeviceCreateBuffer(device_, &descriptor);
  if (const auto failure = failures_->take()) {
    if (buffer != nullptr) api_.BufferRelease(buffer);
    check_alive();
    if (!failure->out_of_memory) {
      throw DeviceError(text("webgpu: a buffer of ", bytes, " bytes: ", failure->message));
    }
    throw OutOfMemory(text("webgpu: a buffer of ", bytes, " bytes: the device is full"), bytes);
  }
  return buffer;
}

std::unique_ptr<gpu::DeviceBuffer> Device::create_buffer(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  check_usable();
  WGPUBuffer handle = raw_buffer(
      bytes, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst, "buffer");
  return std::make_unique<Buffer>(*this, bytes, handle);
}

}  // namespace tilewright::webgpu
