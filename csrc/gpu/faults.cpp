#include "gpu/faults.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/host_read.hpp"
#include "core/text.hpp"
#include "gpu/buffer_pool.hpp"
#include "gpu/recorder.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {
constexpr std::array<std::uint32_t, 8> no_fault{};
constexpr std::size_t most_found = 64;

bool has_fault(const std::array<std::uint32_t, 8>& words) { return words[0] != 0; }
}  // namespace

Binding Faults::binding() {
  std::lock_guard lock(mutex_);
  if (device_.rehearses()) {
    if (!rehearsed_) rehearsed_ = std::make_shared<GpuAllocation>(sizeof(Words));
    return {&buffer_of(rehearsed_), 0, sizeof(Words)};
  }
  if (!words_) {
    AllocationRef words = memory_.allocate(sizeof(Words));
    memory_.with_room(
        [&] { device_.upload(buffer_of(words), 0, std::as_bytes(std::span(no_fault))); });
    words_ = std::move(words);
  }
  return {&buffer_of(words_), 0, sizeof(Words)};
}

bool Faults::holds(const DeviceBuffer* buffer) {
  std::lock_guard lock(mutex_);
  return words_ && &buffer_of(words_) == buffer;
}

std::uint32_t Faults::name(std::string_view name) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(names_, name);
  if (found == names_.end()) found = names_.insert(found, std::string(name));
  return static_cast<std::uint32_t>(found - names_.begin());
}

void Faults::check() {
  std::uint64_t launched = 0;
  if (none_since_last_check(launched)) [[likely]]
    return;
  std::lock_guard lock(mutex_);
  if (!words_) return;
  Words words;
  memory_.with_room(
      [&] { device_.download(std::as_writable_bytes(std::span(words)), buffer_of(words_), 0); });
  if (!has_fault(words)) return see_none(launched);
  if (!reads_.empty())
    device_.reach(reads_.back().place, std::chrono::steady_clock::time_point::max());
  refuse(words,
         std::ranges::find_if(reads_, [](const Read& read) { return has_fault(*read.words); }));
}

std::uint64_t Faults::read_later() {
  std::uint64_t launched = 0;
  if (none_since_last_check(launched)) [[likely]]
    return 0;
  std::lock_guard lock(mutex_);
  if (!words_) return 0;
  // Events that are apart have places that are, with what is queued between them behind the first.
  if (!reads_.empty() && reads_.back().place >= device_.mark()) device_.flush();
  auto words = std::make_shared<Words>();
  const HostRead read{std::as_writable_bytes(std::span(*words)), words};
  const std::uint64_t place =
      memory_.with_room([&] { return device_.start_download(read, buffer_of(words_), 0); });
  reads_.push_back({place, launched, std::move(words)});
  return place;
}

void Faults::check_read(std::uint64_t place) {
  std::uint64_t launched = 0;
  if (none_since_last_check(launched) && !has_found_.load(std::memory_order_acquire)) [[likely]]
    return;
  std::lock_guard lock(mutex_);
  for (const Found& one : found_) {
    if (one.first <= place && place <= one.last) throw IndexOutOfRange(one.message);
  }
  while (!reads_.empty() && reads_.front().place <= place) {
    const std::shared_ptr<Words> words = reads_.front().words;
    if (has_fault(*words)) refuse(*words, reads_.begin());
    see_none(reads_.front().launched);
    reads_.erase(reads_.begin());
  }
}

bool Faults::none_since_last_check(std::uint64_t& launched) const {
  launched = launched_.load(std::memory_order_acquire);
  return launched == checked_.load(std::memory_order_relaxed);
}

void Faults::see_none(std::uint64_t launched) {
  std::uint64_t checked = checked_.load(std::memory_order_relaxed);
  while (checked < launched && !checked_.compare_exchange_weak(checked, launched)) {
  }
}

void Faults::refuse(const Words& words, std::vector<Read>::const_iterator first) {
  const std::uint64_t bits = words[4] | (std::uint64_t{words[5]} << 32);
  const std::string index = words[6] != 0 ? text(static_cast<std::int64_t>(bits)) : text(bits);
  const std::string message =
      text(names_.at(words[1]), ": index ", index, " is out of range for axis ", words[2], " of ",
           words[3], " elements");
  if (first != reads_.end()) {
    device_.flush();  // what comes behind has another place
    found_.push_back({first->place, device_.mark(), message});
    if (found_.size() > most_found) found_.pop_front();
    has_found_.store(true, std::memory_order_release);
  }
  reads_.clear();
  memory_.with_room(
      [&] { device_.upload(buffer_of(words_), 0, std::as_bytes(std::span(no_fault))); });
  throw IndexOutOfRange(message);
}

}  // namespace tilewright::gpu
