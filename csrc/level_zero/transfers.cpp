#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "level_zero/objects.hpp"

// Copies between host and device go through pinned memory, several pieces at once: while the host
// fills or empties one, the GPU copies another.
namespace tilewright::level_zero {

namespace {

constexpr std::uint64_t least_staging = 64 << 10;
constexpr std::uint64_t most_staging = 4 << 20;

std::uint64_t staging_for(std::uint64_t bytes) {
  return std::bit_ceil(std::clamp(bytes, least_staging, most_staging));
}

}  // namespace

std::byte* Device::host_memory(std::uint64_t bytes) {
  const ze_host_mem_alloc_desc_t descriptor;
  void* data = nullptr;
  check(api().MemAllocHost(context_, &descriptor, bytes, 0, &data), "zeMemAllocHost");
  return static_cast<std::byte*>(data);
}

/// Memory of this size in place of what it had, which no queued copy uses.
void Device::create_staging(Staging& staging, std::uint64_t bytes) {
  std::byte* data = host_memory(bytes);
  if (staging.data != nullptr) api().MemFree(context_, staging.data);
  staging.data = data;
  staging.bytes = bytes;
}

// Small uploads share the piece in turn until it is full.
void Device::upload(gpu::DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) {
  std::lock_guard turn(upload_mutex_);
  std::unique_lock lock(mutex_);
  check_usable();
  while (!src.empty()) {
    Staging& staging = upload_room(lock, src.size());
    const std::uint64_t now = std::min<std::uint64_t>(src.size(), staging.bytes - staging.used);
    std::memcpy(staging.data + staging.used, src.data(), now);
    const bool full = staging.used + now == staging.bytes;
    ze_event_handle_t event = full ? events_->take() : nullptr;
    of(dst).last_use = appended_ + 1;
    append_copy(of(dst).data + offset, staging.data + staging.used, now, event);
    staging.used += now;
    staging.event = event;
    if (full) upload_turn_ = (upload_turn_ + 1) % uploads_.size();
    offset += now;
    src = src.subspan(now);
  }
}

/// The piece in turn, with room in it. Lets go of the lock while it waits for one.
Staging& Device::upload_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  Staging& staging = uploads_[upload_turn_];
  if (staging.event != nullptr) {
    lock.unlock();
    await(staging.event);
    lock.lock();
    check_usable();
    events_->put_back(std::exchange(staging.event, nullptr));
    staging.used = 0;
  }
  if (staging.used == 0 && staging.bytes < staging_for(bytes)) {
    create_staging(staging, staging_for(bytes));
  }
  return staging;
}

void Device::download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) {
  std::lock_guard turn(download_mutex_);
  const std::size_t pieces = (dst.size() + most_staging - 1) / most_staging;
  const auto piece = [&](std::size_t i) {
    const std::size_t begin = i * most_staging;
    return dst.subspan(begin, std::min<std::size_t>(most_staging, dst.size() - begin));
  };
  const auto start = [&](std::size_t i) {
    std::lock_guard lock(mutex_);
    check_usable();
    Staging& staging = downloads_[i % downloads_.size()];
    const std::uint64_t bytes = piece(i).size();
    if (staging.bytes < bytes) create_staging(staging, staging_for(bytes));
    ze_event_handle_t event = events_->take();
    of(src).last_use = appended_ + 1;
    append_copy(staging.data, of(src).data + offset + i * most_staging, bytes, event);
    staging.event = event;
    return appended_;
  };
  const auto finish = [&](std::size_t i) {
    Staging& staging = downloads_[i % downloads_.size()];
    await(staging.event);
    std::memcpy(piece(i).data(), staging.data, piece(i).size());
    std::lock_guard lock(mutex_);
    events_->put_back(std::exchange(staging.event, nullptr));
  };
  std::uint64_t last = 0;
  std::size_t started = 0;
  std::size_t finished = 0;
  while (finished < pieces) {
    if (started < pieces && started - finished < downloads_.size()) {
      last = start(started);
      ++started;
    } else {
      finish(finished);
      ++finished;
    }
  }
  std::lock_guard lock(mutex_);
  done_up_to(last);
}

}  // namespace tilewright::level_zero
