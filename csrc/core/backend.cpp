#include "tilewright/backend.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "core/call.hpp"
#include "core/choices.hpp"
#include "core/dawn_library.hpp"
#include "core/fork.hpp"
#include "core/host_read.hpp"
#include "core/log.hpp"
#include "core/requests.hpp"
#include "core/session.hpp"
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
  constexpr Size least_binding = 1 << 16;
  check("max_binding_size", config.max_binding_size, least_binding);
  check("preferred_workgroup_size", config.preferred_workgroup_size, 1);
  check("compute_units", config.compute_units, 1);
  constexpr Size most_units = 65536;
  if (config.compute_units && *config.compute_units > most_units) {
    throw InvalidArgument(text(name, ": compute_units is ", *config.compute_units,
                               ", expected at most ", most_units));
  }
  check("memory_limit", config.memory_limit, 1);
  check("cache_limit", config.cache_limit, 0);
  if (!is_webgpu_implementation(config.implementation)) {
    throw InvalidArgument(text(name, ": implementation is \"", config.implementation,
                               "\", expected \"auto\", \"wgpu\" or \"dawn\""));
  }
  const std::string& power = config.power_preference;
  if (!power.empty() && power != "low" && power != "high") {
    throw InvalidArgument(
        text(name, ": power_preference is \"", power, "\", expected \"low\" or \"high\""));
  }
}

/// [offset, offset + bytes) of what a handle stands for, which must hold it; none for the null
/// handle where there are no bytes.
BufferRange range(const Call& call, std::string_view name, Buffer handle,
                  std::string_view offset_name, Size offset, std::uint64_t bytes) {
  call.not_negative(offset_name, offset);
  const bool none = bytes == 0 && handle == Buffer::null;
  const BufferRange held = none ? BufferRange() : call.buffer(name, handle);
  const auto start = static_cast<std::uint64_t>(offset);
  if (start > held.bytes || bytes > held.bytes - start) {
    call.invalid(text(name, " holds ", held.bytes, " bytes, expected at least ", bytes, " from ",
                      offset_name, " ", offset));
  }
  return {held.allocation, held.offset + start, bytes};
}

std::uint64_t lower(std::uint64_t own, const std::optional<Size>& set) {
  return set ? std::min(own, static_cast<std::uint64_t>(*set)) : own;
}

}  // namespace

Backend::Backend(std::string_view name, Config config)
    : name_(name), config_(std::move(config)), state_(std::make_shared<BackendState>(*this)) {
  check_config(name_, config_);
}

Backend::~Backend() = default;

// Lifecycle -------------------------------------------------------------------------------------

void Backend::init() {
  const InCore in_core;
  std::unique_lock lifecycle(state_->lifecycle);
  if (is_initialized()) return;
  auto session = std::make_shared<Session>();
  open();
  {
    std::lock_guard lock(state_->mutex);
    state_->session = std::move(session);
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
  {
    std::lock_guard lock(state_->mutex);
    if (state_->recordings.here() != nullptr) {
      throw InvalidArgument(
          "close: this thread records, and a recording cannot keep this call; end() or drop() the "
          "recording first");
    }
  }
  shut_down();
}

void Backend::shut_down() {
  const InCore in_core;
  {
    std::lock_guard lifecycle(state_->lifecycle);
    std::vector<AllocationRef> buffers;
    std::map<Kernel, KernelRef> kernels;
    std::shared_ptr<Session> session;
    Recordings::Contents recorded;
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->initialized) return;
      state_->initialized = false;
      session = state_->session;
    }
    state_->wait_until_empty();
    const std::exception_ptr failure = finish(*session);
    {
      std::lock_guard lock(state_->mutex);
      recorded = state_->recordings.close(state_->active_bytes, *state_->budget);
      buffers = state_->buffers.remove_all();
      state_->budget->give_back(state_->scalars.clear());
      kernels = state_->kernels.remove_all();
      state_->profile = ProfileState::none;
      state_->active_bytes = state_->total_allocations = 0;
    }
    recorded.reset();
    buffers.clear();
    kernels.clear();
    do_close();
    session->end(failure);
  }
  if (log_enabled()) log(LogLevel::info, text(name_, ": closed"));
}

/// Waits for the work that events of the session ask for; gives what went wrong in it.
std::exception_ptr Backend::finish(const Session& session) noexcept {
  if (!session.was_marked.load(std::memory_order_relaxed)) return nullptr;
  try {
    do_synchronize();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

DeviceInfo Backend::device() const {
  Call call(*state_, "device", RunAtOnce());
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
  Call call(*backend.state_, "choices", RunAtOnce());
  call.checked();
  return backend.do_choices();
}

void Backend::synchronize() {
  constexpr NotRecorded not_recorded{"nothing is queued meanwhile: wait after replay()"};
  Call call(*state_, "synchronize", not_recorded);
  call.checked();
  do_synchronize();
}

// Memory ----------------------------------------------------------------------------------------

Buffer Backend::alloc(Size bytes) {
  Call call(*state_, "alloc", RunAtOnce());
  call.positive("bytes", bytes);
  const auto wanted = static_cast<std::uint64_t>(bytes);
  const std::uint64_t most = lower(do_max_buffer_bytes(), config_.max_buffer_size);
  if (wanted > most) {
    call.invalid(text("bytes is ", wanted, ", but a buffer of this device holds at most ", most));
  }
  const bool records = state_->recordings.here() != nullptr;
  if (records) {
    // Still counted since it was made.
    if (BufferRange range = state_->recordings.again(wanted)) {
      const Buffer handle = state_->buffers.insert("alloc", std::move(range));
      ++state_->total_allocations;
      return handle;
    }
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
    Allocation& made = *allocation;
    const Buffer handle = state_->buffers.insert("alloc", std::move(allocation));
    if (records && state_->recordings.here() != nullptr) state_->recordings.made(made);
    state_->active_bytes += wanted;
    ++state_->total_allocations;
    return handle;
  } catch (...) {
    budget.give_back(wanted);
    throw;
  }
}

std::shared_ptr<Allocation> Backend::do_alloc_at_hand(std::uint64_t) { return nullptr; }

Buffer alloc_at_hand(Backend& backend, Size bytes) {
  const InCore in_core;
  BackendState& state = *backend.state_;
  const auto wanted = static_cast<std::uint64_t>(bytes);
  std::unique_lock lock(state.mutex, std::try_to_lock);
  if (bytes < 1 || !lock || state.recordings.under_way() != nullptr || !state.try_enter()) {
    return Buffer::null;
  }
  const BackendState::Inside inside(state);
  const std::unique_lock held(std::move(lock));  // let go of before it leaves
  const std::uint64_t most = lower(backend.do_max_buffer_bytes(), backend.config_.max_buffer_size);
  if (wanted > most || !state.budget->take(wanted)) return Buffer::null;
  try {
    AllocationRef allocation = backend.do_alloc_at_hand(wanted);
    if (!allocation) {
      state.budget->give_back(wanted);
      return Buffer::null;
    }
    state.budget->note_peaks();
    const Buffer handle = state.buffers.insert("alloc", std::move(allocation));
    state.active_bytes += wanted;
    ++state.total_allocations;
    return handle;
  } catch (...) {
    state.budget->give_back(wanted);
    throw;
  }
}

Buffer Backend::view(Buffer buffer, Size offset, Size bytes) {
  Call call(*state_, "view", RunAtOnce());
  call.positive("bytes", bytes);
  return state_->buffers.insert(
      "view", range(call, "buffer", buffer, "offset", offset, static_cast<std::uint64_t>(bytes)));
}

void Backend::free(Buffer buffer) {
  Call call(*state_, "free", RunAtOnce());
  const BufferRange& range = call.buffer("buffer", buffer);
  const std::string_view user = state_->recordings.needs(*range.allocation);
  if (!user.empty()) {
    call.invalid(text("buffer is ", static_cast<std::uint64_t>(buffer), ", which ", user,
                      " uses in the recording that is under way; free it once that is dropped"));
  }
  // Held past the lock.
  const BackendState::Removed removed = state_->remove(buffer);
  call.checked();
}

void Backend::release(Buffer buffer) noexcept {
  const InCore in_core;
  {
    BackendState::Removed removed;
    std::unique_lock lock(state_->mutex);
    // What close() has not taken yet it will take.
    if (!state_->enter(lock)) return;
    removed = state_->remove(buffer);
    lock.unlock();
  }
  state_->leave();
}

namespace {

/// Refuses a span of bytes that lies nowhere.
void check_host(const Call& call, std::string_view name, std::span<const std::byte> bytes) {
  if (bytes.data() == nullptr && !bytes.empty()) {
    call.invalid(text(name, " is a null pointer, expected ", bytes.size(), " bytes"));
  }
}

}  // namespace

void Backend::copy_htod(Buffer dst, std::span<const std::byte> src, Size offset) {
  constexpr NotRecorded not_recorded{
      "copy before record(): a replay reads what the buffers hold by then"};
  Call call(*state_, "copy_htod", not_recorded);
  const BufferRange to = range(call, "dst", dst, "offset", offset, src.size());
  check_host(call, "src", src);
  call.checked();
  if (!src.empty()) do_copy_htod(*to.allocation, src, to.offset);
}

void Backend::copy_dtoh(std::span<std::byte> dst, Buffer src, Size offset) {
  constexpr NotRecorded not_recorded{"read after replay(): nothing is computed before"};
  Call call(*state_, "copy_dtoh", not_recorded);
  const BufferRange from = range(call, "src", src, "offset", offset, dst.size());
  check_host(call, "dst", dst);
  call.checked();
  if (!dst.empty()) do_copy_dtoh(dst, *from.allocation, from.offset);
}

Event Backend::copy_dtoh_async(std::span<std::byte> dst, Buffer src, Size offset,
                               std::shared_ptr<const void> owner) {
  constexpr NotRecorded not_recorded{"read after replay(): nothing is computed before"};
  Call call(*state_, "copy_dtoh_async", not_recorded);
  const BufferRange from = range(call, "src", src, "offset", offset, dst.size());
  check_host(call, "dst", dst);
  std::shared_ptr<Session> session = state_->session;
  session->was_marked.store(true, std::memory_order_relaxed);
  call.checked();
  std::uint64_t place = 0;
  if (!dst.empty()) {
    place = do_copy_dtoh_async({dst, std::move(owner)}, *from.allocation, from.offset);
  }
  return {state_, std::move(session), place};
}

void Backend::copy_dtod(Buffer dst, Buffer src, Size bytes, Size dst_offset, Size src_offset) {
  Call call(*state_, "copy_dtod");
  call.not_negative("bytes", bytes);
  const auto size = static_cast<std::uint64_t>(bytes);
  const BufferRange to = range(call, "dst", dst, "dst_offset", dst_offset, size);
  const BufferRange from = range(call, "src", src, "src_offset", src_offset, size);
  call.apart("dst", to, "src", from);
  call.checked();
  if (bytes != 0) do_copy_dtod(*to.allocation, *from.allocation, size, to.offset, from.offset);
}

Size Backend::buffer_bytes(Buffer buffer) const {
  Call call(*state_, "buffer_bytes", RunAtOnce());
  return static_cast<Size>(call.buffer("buffer", buffer).bytes);
}

std::shared_ptr<std::byte> Backend::host_memory(Buffer buffer) const {
  Call call(*state_, "host_memory", RunAtOnce());
  const BufferRange range = call.buffer("buffer", buffer);
  Recordings::seen_by_host(*range.allocation);
  call.checked();
  std::byte* const memory = do_host_memory(*range.allocation);
  return {range.allocation, memory == nullptr ? nullptr : memory + range.offset};
}

MemoryStats Backend::memory_stats() const {
  Call call(*state_, "memory_stats", RunAtOnce());
  MemoryStats stats;
  stats.active_bytes = state_->active_bytes;
  stats.peak_bytes = state_->budget->peak();
  stats.peak_scratch_bytes = state_->budget->peak_scratch();
  stats.allocations = state_->buffers.allocations();
  stats.total_allocations = state_->total_allocations;
  stats.cached_bytes = do_cached_bytes() + state_->scalars.bytes();
  stats.cache_limit_bytes = do_cache_limit();
  stats.limit_bytes = state_->budget->limit();
  return stats;
}

void Backend::trim() {
  constexpr NotRecorded not_recorded{"trim before record(), or after end()"};
  Call call(*state_, "trim", not_recorded);
  state_->budget->give_back(state_->scalars.clear());
  call.checked();
  do_trim();
}

void Backend::stand_in(BufferRange& input) {
  if (!input) input = do_alloc(1);
}

}  // namespace tilewright
