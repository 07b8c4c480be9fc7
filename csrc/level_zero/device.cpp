#include "level_zero/device.hpp"

#include <algorithm>
#include <utility>

#include "core/environment.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "level_zero/objects.hpp"
#include "level_zero/results.hpp"
#include "tilewright/error.hpp"

// Opening, failures and buffers; pipelines.cpp has kernels, stream.cpp launches and their times,
// transfers.cpp copies from and to the host.
namespace tilewright::level_zero {

namespace {

/// Where buffers start, and where kernels' vectors and subgroups' blocks may.
constexpr std::uint32_t buffer_alignment = 128, binding_alignment = 16;
constexpr std::uint32_t intel = 0x8086;
constexpr std::uint32_t block_reader = 16;
constexpr std::uint32_t narrow_subgroup = 8;

bool has_subgroup_size(const Adapter& adapter, std::uint32_t size) {
  const auto& compute = adapter.compute;
  const auto* end = compute.subGroupSizes + std::min<std::size_t>(compute.numSubGroupSizes,
                                                                  std::size(compute.subGroupSizes));
  return std::find(compute.subGroupSizes, end, size) != end;
}

std::string flags_for(const Adapter& adapter, const gpu::DeviceLimits& limits) {
  std::string flags = "-cl-fp32-correctly-rounded-divide-sqrt";
  // GPUs without narrow subgroups have a larger register file for kernels that would else spill.
  if (adapter.properties.vendorId == intel && !has_subgroup_size(adapter, narrow_subgroup)) {
    flags += " -ze-intel-enable-auto-large-GRF-mode";
  }
  if (limits.max_buffer_bytes > limits.max_binding_bytes) {
    flags += " -ze-opt-greater-than-4GB-buffer-required";
  }
  return flags;
}

}  // namespace

Device::Device(const Adapter& adapter, const Config& config)
    : adapter_(adapter),
      info_(adapter.info),
      fork_generation_(fork_generation()),
      debug_(config.debug_mode) {
  if (!info_.available) throw BackendUnavailable(text(info_.id, ": ", info_.reason));
  read_limits();
  build_flags_ = flags_for(adapter_, limits_);
  if (config.enable_pipeline_cache) {
    binaries_ = std::make_unique<KeptFiles>(
        "level-zero", text(info_.name, " ", adapter.properties.vendorId, ":",
                           adapter.properties.deviceId, " driver ", adapter.driver_version));
  }
  try {
    open();
  } catch (const Error& error) {
    events_.reset();
    close_handles();
    throw BackendUnavailable(text(info_.id, ": ", info_.name, " gave no device: ", error.what()));
  }
}

void Device::open() {
  const ze_context_desc_t descriptor;
  check(api().ContextCreate(adapter_.driver, &descriptor, &context_), "zeContextCreate");
  list_ = command_list(adapter_.compute_group);
  if (adapter_.copy_group) copies_ = command_list(*adapter_.copy_group);
  events_ = std::make_unique<Events>(context_, adapter_.handle, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  events_->put_back(events_->take());
}

/// An immediate list of this group of queues, in order where the driver can.
ze_command_list_handle_t Device::command_list(std::uint32_t group) {
  ze_command_queue_desc_t descriptor;
  descriptor.ordinal = group;
  ze_command_list_handle_t list = nullptr;
  in_order_ = api().has_in_order_lists && adapter_.api_version >= ZE_API_VERSION_1_7;
  if (in_order_) descriptor.flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
  check(api().CommandListCreateImmediate(context_, adapter_.handle, &descriptor, &list),
        "zeCommandListCreateImmediate");
  return list;
}

Device::~Device() {
  // A forked child's copy cannot be taken apart, nor what the GPU still uses.
  if (fork_generation_ != fork_generation() || !comes_to_rest()) {
    (void)events_.release();
    (void)timestamps_.release();
    for (auto& unread : unread_) (void)unread.release();
    return;
  }
  for (const Retired& retired : retired_) let_go(retired);
  destroy_ended_lists();
  timestamps_.reset();
  unread_.clear();
  events_.reset();
  close_handles();
}

bool Device::comes_to_rest() noexcept {
  constexpr int attempts = 3;
  for (int attempt = 0; attempt < attempts && !lost_; ++attempt) {
    try {
      wait();
      for (const Mark& mark : marks_) await(mark.event);
      return true;
    } catch (const std::exception& error) {
      log(LogLevel::warning, text("level-zero: closing ", info_.name, ": ", error.what()));
    }
  }
  return lost_;
}

void Device::close_handles() noexcept {
  for (const Staging& staging : uploads_) {
    if (staging.data != nullptr) api().MemFree(context_, staging.data);
  }
  for (const Staging& staging : downloads_) {
    if (staging.data != nullptr) api().MemFree(context_, staging.data);
  }
  reads_.clear([&](const Staging& staging) { api().MemFree(context_, staging.data); });
  if (copies_ != nullptr) api().CommandListDestroy(copies_);
  if (list_ != nullptr) api().CommandListDestroy(list_);
  if (queue_ != nullptr) api().CommandQueueDestroy(queue_);
  if (context_ != nullptr) api().ContextDestroy(context_);
}

void Device::read_limits() {
  const auto& compute = adapter_.compute;
  limits_.max_buffer_bytes = info_.limits.at("max_buffer_bytes") / 4 * 4;
  limits_.max_binding_bytes = gpu::counted_binding_bytes(limits_.max_buffer_bytes);
  limits_.memory_bytes = info_.memory_bytes;
  limits_.binding_alignment = binding_alignment;
  limits_.max_groups = static_cast<std::uint32_t>(info_.limits.at("max_workgroups_per_dimension"));
  limits_.max_group_size = std::min(compute.maxTotalGroupSize, compute.maxGroupSizeX);
  limits_.local_memory_bytes = compute.maxSharedLocalMemory;
  limits_.compute_units = adapter_.properties.numSlices * adapter_.properties.numSubslicesPerSlice;
  limits_.stores_bytes = limits_.int64 = true;
  limits_.max_bindings = 32;
  limits_.max_params_bytes = 512;
  limits_.float16 = (adapter_.module.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0;
  limits_.float64 = (adapter_.module.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0;
  if (adapter_.properties.vendorId == intel && has_subgroup_size(adapter_, block_reader)) {
    const auto unless_set = [](bool otherwise) {
      return environment_flag("TILEWRIGHT_ZE_SUBGROUPS", otherwise) ? block_reader : 0;
    };
    limits_.block_subgroup = unless_set(true);
    limits_.product_subgroup = unless_set(adapter_.properties.type == ZE_DEVICE_TYPE_GPU);
    // DPAS takes as many work-items as the narrowest subgroups have.
    if (adapter_.dpas && limits_.float16 && limits_.block_subgroup != 0) {
      limits_.block_lanes =
          has_subgroup_size(adapter_, narrow_subgroup) ? narrow_subgroup : block_reader;
    }
    // The only rows that blocks cannot be read from.
    limits_.packs_float16 = limits_.product_subgroup != 0;
  }
  info_.limits["block_subgroup_size"] = limits_.block_subgroup;
  info_.limits["product_subgroup_size"] = limits_.product_subgroup;
  info_.limits["matrix_lanes"] = limits_.block_lanes;
  info_.limits["max_bindings"] = limits_.max_bindings;
  info_.limits["max_binding_bytes"] = limits_.max_binding_bytes;
  info_.limits["min_binding_alignment"] = limits_.binding_alignment;
}

std::uint32_t Device::subgroup_size() {
  const std::uint32_t wide = adapter_.properties.physicalEUSimdWidth;
  if (has_subgroup_size(adapter_, wide)) return wide;
  return *std::ranges::max_element(adapter_.compute.subGroupSizes);
}

// Failures --------------------------------------------------------------------------------------

void Device::check(ze_result_t result, std::string_view call) const {
  if (result == ZE_RESULT_SUCCESS) return;
  if (is_loss(result)) lost_ = true;
  fail(call, result, adapter_.driver);
}

void Device::check_usable() const {
  if (fork_generation_ != fork_generation()) {
    throw DeviceError(
        "level-zero: this process was forked from the one that opened the device, which cannot be "
        "used here; start the process anew (multiprocessing: spawn), or fork before the first use "
        "of level-zero");
  }
  if (!lost_) return;
  throw DeviceLost(
      text("level-zero: ", info_.name,
           " was lost: its driver gave it up, as after a kernel without end or a reset; "
           "close() and init() again"));
}

// Buffers ---------------------------------------------------------------------------------------

std::unique_ptr<gpu::DeviceBuffer> Device::create_buffer(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  check_usable();
  ze_device_mem_alloc_desc_t descriptor;
  const ze_relaxed_allocation_limits_exp_desc_t large;
  if (bytes > adapter_.properties.maxMemAllocSize) descriptor.pNext = &large;
  void* data = nullptr;
  const ze_result_t result =
      api().MemAllocDevice(context_, &descriptor, bytes, buffer_alignment, adapter_.handle, &data);
  if (is_full(result)) {
    throw OutOfMemory(text("level-zero: a buffer of ", bytes, " bytes: the device is full"), bytes);
  }
  check(result, "zeMemAllocDevice");
  return std::make_unique<Buffer>(*this, bytes, data, ++last_buffer_id_);
}

void Device::retire(const Retired& retired) noexcept {
  if (retired.last_use <= done_) {
    let_go(retired);
    return destroy_ended_lists();
  }
  try {
    retired_.push_back(retired);
  } catch (const std::bad_alloc&) {
    // No room to remember it: it stays until the process ends.
  }
}

void Device::let_go(const Retired& retired) noexcept {
  if (retired.kernel != nullptr) api().KernelDestroy(retired.kernel);
  if (retired.module != nullptr) api().ModuleDestroy(retired.module);
  if (retired.memory != nullptr) api().MemFree(context_, retired.memory);
  if (retired.event != nullptr) events_->put_back(retired.event);
  if (retired.list != nullptr) ended_lists_.push_back(retired.list);
}

void Device::done_up_to(std::uint64_t command) {
  if (command <= done_) return;
  done_ = command;
  if (done_ == appended_) unordered_ = false;
  if (alone_ != nullptr) events_->put_back(std::exchange(alone_, nullptr));
  std::erase_if(retired_, [&](const Retired& retired) {
    if (retired.last_use > done_) return false;
    let_go(retired);
    return true;
  });
  destroy_ended_lists();
}

}  // namespace tilewright::level_zero
