#include "tilewright/backend.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/call.hpp"
#include "core/choices.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/requests.hpp"
#include "core/state.hpp"
#include "core/text.hpp"

namespace tilewright {

namespace {

void check_config(std::string_view name, const Config& config) {
  const auto check = [&](std::string_view key, const std::optional<Size>& value, Size low) {
    if (value && *value < low) {
      throw InvalidArgument(text(name, ": ", key, " is ", *value, ", expected ", low, " or more"));
    }
  };
  check("adapter_index", config.adapter_index, 0);
  check("max_buffer_size", config.max_buffer_size, 1);
  check("preferred_workgroup_size", config.preferred_workgroup_size, 1);
  check("memory_limit", config.memory_limit, 1);
  check("cache_limit", config.cache_limit, 0);
  const std::string& power = config.power_preference;
  if (!power.empty() && power != "low" && power != "high") {
    throw InvalidArgument(
        text(name, ": power_preference is \"", power, "\", expected \"low\" or \"high\""));
  }
}

/// The allocation behind a handle that must hold [offset, offset + bytes); none for the null handle
/// where there are no bytes.
AllocationRef range(const Call& call, std::string_view name, Buffer handle,
                    std::string_view offset_name, Size offset, std::uint64_t bytes) {
  call.not_negative(offset_name, offset);
  const bool none = bytes == 0 && handle == Buffer::null;
  AllocationRef allocation = none ? nullptr : call.buffer(name, handle);
  const std::uint64_t held = none ? 0 : allocation->bytes();
  const auto start = static_cast<std::uint64_t>(offset);
  if (start > held || bytes > held - start) {
    call.invalid(text(name, " holds ", held, " bytes, expected at least ", bytes, " from ",
                      offset_name, " ", offset));
  }
  return allocation;
}

std::uint64_t lower(std::uint64_t own, const std::optional<Size>& set) {
  return set ? std::min(own, static_cast<std::uint64_t>(*set)) : own;
}

}  // namespace

Backend::Backend(std::string_view name, Config config)
    : name_(name), config_(std::move(config)), state_(std::make_unique<BackendState>()) {
  check_config(name_, config_);
}

Backend::~Backend() = default;

// Lifecycle -------------------------------------------------------------------------------------

void Backend::init() {
  const InCore in_core;
  std::unique_lock lifecycle(state_->lifecycle);
  if (is_initialized()) return;
  open();
  {
    std::lock_guard lock(state_->mutex);
    state_->initialized = true;
  }
  const std::string line = log_enabled() ? text(name_, ": opened ", do_device().name) : "";
  lifecycle.unlock();
  if (!line.empty()) log(LogLevel::info, line);
}

/// Leaves nothing open where it fails.
void Backend::open() {
  try {
    do_init();
    state_->budget->open(lower(do_memory_limit(), config_.memory_limit));
  } catch (...) {
    do_close();
    throw;
  }
}

bool Backend::is_initialized() const noexcept {
  std::lock_guard lock(state_->mutex);
  return state_->initialized;
}

void Backend::close() {
  const InCore in_core;
  {
    std::lock_guard lifecycle(state_->lifecycle);
    std::vector<AllocationRef> buffers;
    std::map<Kernel, KernelRef> kernels;
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->initialized) return;
      state_->initialized = false;
    }
    state_->wait_until_empty();
    {
      std::lock_guard lock(state_->mutex);
      buffers = state_->buffers.remove_all();
      state_->budget->give_back(state_->scalars.clear());
      kernels = state_->kernels.remove_all();
      state_->profile = ProfileState::none;
      state_->active_bytes = state_->total_allocations = 0;
    }
    buffers.clear();
    kernels.clear();
    do_close();
  }
  if (log_enabled()) log(LogLevel::info, text(name_, ": closed"));
}

DeviceInfo Backend::device() const {
  Call call(*state_, "device");
  call.checked();
  return do_device();
}

/// With the lifecycle held, so that nobody opens or closes the device meanwhile.
template <class Ask>
auto Backend::ask_device(Ask ask) {
  std::lock_guard lifecycle(state_->lifecycle);
  if (is_initialized()) return ask();
  open();
  try {
    const auto answer = ask();
    do_close();
    return answer;
  } catch (...) {
    do_close();
    throw;
  }
}

Capabilities Backend::capabilities() {
  Capabilities all = ask_device([this] { return do_capabilities(); });
  all.max_buffer_bytes = lower(all.max_buffer_bytes, config_.max_buffer_size);
  return all;
}

PerformanceHints Backend::performance_hints() {
  return ask_device([this] { return do_performance_hints(); });
}

std::shared_ptr<MemoryBudget> Backend::budget() const { return state_->budget; }

std::shared_ptr<Choices> Backend::do_choices() const { return nullptr; }

std::shared_ptr<Choices> choices_of(Backend& backend) {
  Call call(*backend.state_, "choices");
  call.checked();
  return backend.do_choices();
}

void Backend::synchronize() {
  Call call(*state_, "synchronize");
  call.checked();
  do_synchronize();
}

// Memory ----------------------------------------------------------------------------------------

Buffer Backend::alloc(Size bytes) {
  Call call(*state_, "alloc");
  call.positive("bytes", bytes);
  const auto wanted = static_cast<std::uint64_t>(bytes);
  const std::uint64_t most = lower(do_max_buffer_bytes(), config_.max_buffer_size);
  if (wanted > most) {
    call.invalid(text("bytes is ", wanted, ", but a buffer of this device holds at most ", most));
  }
  MemoryBudget& budget = *state_->budget;
  bool fits = budget.take(wanted);
  if (!fits) {
    budget.give_back(state_->scalars.clear());
    fits = budget.take(wanted);
  }
  if (!fits) {
    throw OutOfMemory(
        text("alloc: ", wanted, " bytes asked for, but ", budget.held(), " of ", budget.limit(),
             " are in live buffers; free some, or raise memory_limit"),
        wanted);
  }
  call.checked();
  try {
    AllocationRef allocation = do_alloc(wanted);
    budget.note_peaks();
    std::lock_guard lock(state_->mutex);
    const Buffer handle = state_->buffers.insert(std::move(allocation));
    state_->active_bytes += wanted;
    ++state_->total_allocations;
    return handle;
  } catch (...) {
    budget.give_back(wanted);
    throw;
  }
}

void Backend::free(Buffer buffer) {
  Call call(*state_, "free");
  // Held past the lock: giving memory back can take long.
  const AllocationRef allocation = call.buffer("buffer", buffer);
  state_->buffers.remove(buffer);
  state_->active_bytes -= allocation->bytes();
  state_->budget->give_back(allocation->bytes());
  call.checked();
}

void Backend::release(Buffer buffer) noexcept {
  const InCore in_core;
  AllocationRef allocation;
  {
    std::unique_lock lock(state_->mutex);
    // What close() has not taken yet it will take.
    if (!state_->enter(lock)) return;
    allocation = state_->buffers.remove(buffer);
    if (allocation) {
      state_->active_bytes -= allocation->bytes();
      state_->budget->give_back(allocation->bytes());
    }
  }
  allocation.reset();
  state_->leave();
}

void Backend::copy_htod(Buffer dst, std::span<const std::byte> src, Size offset) {
  Call call(*state_, "copy_htod");
  const AllocationRef to = range(call, "dst", dst, "offset", offset, src.size());
  call.checked();
  if (!src.empty()) do_copy_htod(*to, src, static_cast<std::uint64_t>(offset));
}

void Backend::copy_dtoh(std::span<std::byte> dst, Buffer src, Size offset) {
  Call call(*state_, "copy_dtoh");
  const AllocationRef from = range(call, "src", src, "offset", offset, dst.size());
  call.checked();
  if (!dst.empty()) do_copy_dtoh(dst, *from, static_cast<std::uint64_t>(offset));
}

void Backend::copy_dtod(Buffer dst, Buffer src, Size bytes, Size dst_offset, Size src_offset) {
  Call call(*state_, "copy_dtod");
  call.not_negative("bytes", bytes);
  const auto size = static_cast<std::uint64_t>(bytes);
  const AllocationRef to = range(call, "dst", dst, "dst_offset", dst_offset, size);
  const AllocationRef from = range(call, "src", src, "src_offset", src_offset, size);
  if (dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes) {
    call.invalid(text("the ranges of ", bytes, " bytes from dst_offset ", dst_offset,
                      " and src_offset ", src_offset, " of one buffer overlap"));
  }
  call.checked();
  if (bytes != 0) {
    do_copy_dtod(*to, *from, size, static_cast<std::uint64_t>(dst_offset),
                 static_cast<std::uint64_t>(src_offset));
  }
}

Size Backend::buffer_bytes(Buffer buffer) const {
  Call call(*state_, "buffer_bytes");
  return static_cast<Size>(call.buffer("buffer", buffer)->bytes());
}

std::shared_ptr<std::byte> Backend::host_memory(Buffer buffer) const {
  Call call(*state_, "host_memory");
  const AllocationRef allocation = call.buffer("buffer", buffer);
  call.checked();
  return {allocation, do_host_memory(*allocation)};
}

MemoryStats Backend::memory_stats() const {
  Call call(*state_, "memory_stats");
  MemoryStats stats;
  stats.active_bytes = state_->active_bytes;
  stats.peak_bytes = state_->budget->peak();
  stats.peak_scratch_bytes = state_->budget->peak_scratch();
  stats.allocations = state_->buffers.size();
  stats.total_allocations = state_->total_allocations;
  stats.cached_bytes = do_cached_bytes() + state_->scalars.bytes();
  stats.cache_limit_bytes = do_cache_limit();
  stats.limit_bytes = state_->budget->limit();
  return stats;
}

void Backend::trim() {
  Call call(*state_, "trim");
  state_->budget->give_back(state_->scalars.clear());
  call.checked();
  do_trim();
}

void Backend::stand_in(AllocationRef& input) {
  if (!input) input = do_alloc(1);
}

}  // namespace tilewright
