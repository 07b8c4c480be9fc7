#include "gpu/faults.hpp"

#include <algorithm>
#include <utility>

#include "core/host_read.hpp"
#include "core/text.hpp"
#include "gpu/buffer_pool.hpp"
#include "gpu/recorder.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {
constexpr std::array<std::uint32_t, 8> no_fault{};
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

bool Faults::none_since_last_check(std::uint64_t& launched) const {
  launched = launched_.load(std::memory_order_acquire);
  return launched == checked_.load(std::memory_order_relaxed);
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
  look(words, launched);
}

std::uint64_t Faults::read_later() {
  std::uint64_t launched = 0;
  if (none_since_last_check(launched)) [[likely]]
    return 0;
  std::lock_guard lock(mutex_);
  if (!words_) return 0;
  auto words = std::make_shared<Words>();
  const HostRead read{std::as_writable_bytes(std::span(*words)), words};
  const std::uint64_t place =
      memory_.with_room([&] { return device_.start_download(read, buffer_of(words_), 0); });
  reads_.push_back({place, launched, std::move(words)});
  return place;
}

void Faults::check_read(std::uint64_t place) {
  std::uint64_t launched = 0;
  if (none_since_last_check(launched)) [[likely]]
    return;
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < reads_.size();) {
    if (reads_[i].place > place) {
      ++i;
      continue;
    }
    const Read read = std::move(reads_[i]);
    reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(i));
    look(*read.words, read.launched);
  }
}

void Faults::look(const Words& words, std::uint64_t launched) {
  if (words[0] == 0) {
    std::uint64_t checked = checked_.load(std::memory_order_relaxed);
    while (checked < launched && !checked_.compare_exchange_weak(checked, launched)) {
    }
    return;
  }
  // Reads under way have the same one.
  reads_.clear();
  memory_.with_room(
      [&] { device_.upload(buffer_of(words_), 0, std::as_bytes(std::span(no_fault))); });
  const std::uint64_t bits = words[4] | (std::uint64_t{words[5]} << 32);
  const std::string index = words[6] != 0 ? text(static_cast<std::int64_t>(bits)) : text(bits);
  throw IndexOutOfRange(text(names_.at(words[1]), ": index ", index, " is out of range for axis ",
                             words[2], " of ", words[3], " elements"));
}

}  // namespace tilewright::gpu
