#include <algorithm>
#include <cstring>
#include <utility>

#include "level_zero/objects.hpp"
#include "level_zero/results.hpp"

// Places in the queue, which are numbers of commands, and downloads that go on after their calls.
namespace tilewright::level_zero {

namespace {

/// How long one look at a mark waits; between looks the device is asked whether it still works.
constexpr std::chrono::nanoseconds longest_look{100'000'000};

}  // namespace

std::uint64_t Device::mark() {
  std::lock_guard lock(mutex_);
  check_usable();
  return mark_here();
}

std::uint64_t Device::mark_here() {
  look_at_marks();
  if (appended_ == done_ || (!marks_.empty() && marks_.back().place == appended_)) return appended_;
  marks_.push_back({appended_, nullptr, 0});
  try {
    const bool alone = alone_ != nullptr && appended_ == done_ + 1;
    marks_.back().event = alone ? std::exchange(alone_, nullptr) : append_signal();
  } catch (...) {
    marks_.pop_back();
    throw;
  }
  return appended_;
}

void Device::look_at_marks() {
  // A mark's event is signalled behind its place, which may be known to be done before.
  while (!marks_.empty()) {
    const Mark& mark = marks_.front();
    const ze_result_t result = api().EventHostSynchronize(mark.event, 0);
    if (result == ZE_RESULT_NOT_READY) return;
    check(result, "zeEventHostSynchronize");
    done_up_to(mark.place);
    if (mark.waiters != 0) return;
    events_->put_back(mark.event);
    marks_.pop_front();
  }
}

bool Device::reach(std::uint64_t place, Clock::time_point deadline) {
  {
    std::unique_lock lock(mutex_);
    check_usable();
    for (;;) {
      look_at_marks();
      if (done_ >= place) break;
      const Clock::time_point now = Clock::now();
      const auto left = deadline <= now ? std::chrono::nanoseconds(0) : deadline - now;
      look_at(place, std::min<std::chrono::nanoseconds>(left, longest_look), lock);
      if (done_ < place && deadline <= Clock::now()) return false;
    }
  }
  fill_downloads();
  return true;
}

/// Waits for the mark of a place, without the lock.
void Device::look_at(std::uint64_t place, std::chrono::nanoseconds longest,
                     std::unique_lock<std::mutex>& lock) {
  Mark& mark =
      *std::ranges::find_if(marks_, [&](const Mark& other) { return other.place >= place; });
  ++mark.waiters;
  lock.unlock();
  const ze_result_t result =
      api().EventHostSynchronize(mark.event, static_cast<std::uint64_t>(longest.count()));
  const bool waits = result == ZE_RESULT_NOT_READY;
  const ze_result_t status =
      waits ? api().DeviceGetStatus(adapter_.handle) : ze_result_t{ZE_RESULT_SUCCESS};
  lock.lock();
  --mark.waiters;
  if (is_loss(status)) check(status, "zeDeviceGetStatus");
  if (!waits) {
    check(result, "zeEventHostSynchronize");
    done_up_to(mark.place);
  }
}

/// A block with room. Lets go of the lock while it waits for one.
Device::DownloadBlocks::Block& Device::download_room(std::unique_lock<std::mutex>& lock,
                                                     std::uint64_t bytes) {
  const auto make = [&](std::uint64_t size) {
    Staging staging;
    create_staging(staging, size);
    return staging;
  };
  const auto drop = [&](const Staging& staging) { api().MemFree(context_, staging.data); };
  for (;;) {
    if (auto* block = reads_.room(bytes, make, drop)) return *block;
    mark_here();
    const std::uint64_t oldest = reads_.first_place();
    lock.unlock();
    reach(oldest, Clock::time_point::max());
    lock.lock();
    check_usable();
  }
}

std::uint64_t Device::start_download(HostRead read, gpu::DeviceBuffer& src, std::uint64_t offset) {
  std::unique_lock lock(mutex_);
  check_usable();
  const std::uint64_t number = reads_.next_number();
  try {
    while (!read.dst.empty()) {
      const auto words =
          gpu::DownloadWords::first(offset, read.dst.size(), DownloadBlocks::most_block);
      DownloadBlocks::Block& block = download_room(lock, words.bytes);
      auto piece = reads_.piece(block, words.skip, read.dst.first(words.count), read, number);
      append_copy(block.staging.data + block.used, of(src).data + words.offset, words.bytes,
                  nullptr);
      of(src).last_use = appended_;
      reads_.add(std::move(piece), words.bytes, appended_);
      offset += words.count;
      read.dst = read.dst.subspan(words.count);
    }
    return mark_here();
  } catch (...) {
    if (lock.owns_lock()) lock.unlock();
    std::lock_guard alone(filling_mutex_);  // nobody writes to it once this has thrown
    lock.lock();
    reads_.forget(number);
    throw;
  }
}

/// Brings what is done to where it belongs. Several threads may ask; one does it, and the others
/// then find it done.
void Device::fill_downloads() {
  // Their owners go without a lock.
  std::vector<DownloadBlocks::Piece> ready;
  DownloadBlocks::Pieces done;
  std::lock_guard alone(filling_mutex_);
  {
    std::lock_guard lock(mutex_);
    for (const auto& piece : reads_.pieces()) {
      if (piece.place > done_) break;
      ready.push_back(piece);
    }
  }
  for (const auto& piece : ready) {
    if (piece.dst.empty()) continue;
    std::memcpy(piece.dst.data(), piece.block->staging.data + piece.at, piece.dst.size());
  }
  std::lock_guard lock(mutex_);
  done = reads_.take(ready.size(), [](DownloadBlocks::Block&) {});
}

}  // namespace tilewright::level_zero
