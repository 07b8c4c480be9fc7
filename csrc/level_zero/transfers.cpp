#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "level_zero/objects.hpp"
#include "level_zero/results.hpp"
#include "tilewright/error.hpp"

// Copies between host and device go through pinned memory, several pieces at once: while the host
// fills or empties one, the GPU copies another. Large ones are left to a copy engine, where the GPU
// has one.
namespace tilewright::level_zero {

namespace {

constexpr std::uint64_t least_staging = 64 << 10;
constexpr std::uint64_t most_staging = 4 << 20;
/// What is worth a hand-over to another engine and back.
constexpr std::uint64_t least_aside = 1 << 20;

std::uint64_t staging_for(std::uint64_t bytes) {
  return std::bit_ceil(std::clamp(bytes, least_staging, most_staging));
}

/// body() with the lock let go of.
template <class Body>
void without(std::unique_lock<std::mutex>& lock, const Body& body) {
  struct Relock {
    std::unique_lock<std::mutex>& lock;
    ~Relock() { lock.lock(); }
  };
  lock.unlock();
  const Relock relock{lock};
  body();
}

}  // namespace

/// Memory of this size in place of what it had, which no queued copy uses.
void Device::create_staging(Staging& staging, std::uint64_t bytes) {
  const ze_host_mem_alloc_desc_t descriptor;
  void* data = nullptr;
  check(api().MemAllocHost(context_, &descriptor, bytes, 0, &data), "zeMemAllocHost");
  if (staging.data != nullptr) api().MemFree(context_, staging.data);
  staging.data = static_cast<std::byte*>(data);
  staging.bytes = bytes;
}

void Device::settle(Staging& staging, std::unique_lock<std::mutex>& lock) {
  if (staging.event == nullptr) return;
  without(lock, [&] { await(staging.event); });
  events_->put_back(std::exchange(staging.event, nullptr));
  staging.used = 0;
}

/// Has the commands to come wait for the copy engine. Without that the engines' order is lost, and
/// with it what the buffers hold, so a failure is not the end of it.
void Device::end_aside(ze_event_handle_t begun, ze_event_handle_t ended) {
  const auto append = [&](ze_command_list_handle_t list, ze_event_handle_t signal,
                          std::uint32_t waits) {
    const auto once = [&] { return api().CommandListAppendBarrier(list, signal, waits, &ended); };
    ze_result_t result = once();
    if (result != ZE_RESULT_SUCCESS) result = once();
    if (result != ZE_RESULT_SUCCESS) lost_ = true;
    check(result, "zeCommandListAppendBarrier");
  };
  append(copies_, ended, 0);
  append(list_, nullptr, 1);
  was_appended();
  unordered_ = false;
  for (ze_event_handle_t event : {begun, ended}) {
    retire({appended_, nullptr, nullptr, nullptr, event, nullptr});
  }
}

/// Calls body(begun), which appends the pieces of a transfer. A large one goes to the copy engine,
/// where there is one: `begun` is signalled where all that was appended is done. Else it is null.
template <class Body>
void Device::transfer(Buffer& buffer, std::uint64_t bytes, const Body& body) {
  const bool aside = copies_ != nullptr && bytes >= least_aside;
  // Both before the first piece, which the commands to come must wait for.
  ze_event_handle_t ended = aside ? events_->take() : nullptr;
  ze_event_handle_t begun = nullptr;
  try {
    if (aside) begun = append_signal();
  } catch (...) {
    events_->put_back(ended);
    throw;
  }
  const auto end = [&] {
    if (begun != nullptr && !lost_) end_aside(begun, ended);
    buffer.last_use = appended_;
  };
  try {
    body(begun);
  } catch (...) {
    end();
    throw;
  }
  end();
}

/// One copy between `staging` and a buffer; with `signal` the piece waits for it from now on.
void Device::append_piece(void* dst, const void* src, std::uint64_t bytes, Staging& staging,
                          bool signal, ze_event_handle_t begun) {
  ze_event_handle_t event = signal ? events_->take() : nullptr;
  try {
    if (begun == nullptr) {
      append_copy(dst, src, bytes, event);
    } else {
      check(api().CommandListAppendMemoryCopy(copies_, dst, src, bytes, event, 1, &begun),
            "zeCommandListAppendMemoryCopy");
    }
  } catch (...) {
    if (signal) events_->put_back(event);
    throw;
  }
  staging.event = event;
}

// Small uploads share the piece in turn until it is full.
void Device::upload(gpu::DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) {
  std::lock_guard turn(upload_mutex_);
  std::unique_lock lock(mutex_);
  check_usable();
  transfer(of(dst), src.size(), [&](ze_event_handle_t begun) {
    while (!src.empty()) {
      Staging& staging = upload_room(lock, src.size());
      const std::uint64_t now = std::min<std::uint64_t>(src.size(), staging.bytes - staging.used);
      std::byte* const from = staging.data + staging.used;
      std::memcpy(from, src.data(), now);
      const bool full = staging.used + now == staging.bytes;
      append_piece(of(dst).data + offset, from, now, staging, full, begun);
      staging.used += now;
      if (full) upload_turn_ = (upload_turn_ + 1) % uploads_.size();
      offset += now;
      src = src.subspan(now);
    }
  });
}

/// The piece in turn, with room in it. Lets go of the lock while it waits for one.
Staging& Device::upload_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  Staging& staging = uploads_[upload_turn_];
  settle(staging, lock);
  check_usable();
  if (staging.used == 0 && staging.bytes < staging_for(bytes)) {
    create_staging(staging, staging_for(bytes));
  }
  return staging;
}

void Device::download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) {
  std::lock_guard turn(download_mutex_);
  std::unique_lock lock(mutex_);
  check_usable();
  std::uint64_t reached = appended_;  // by the piece started last
  const std::size_t pieces = (dst.size() + most_staging - 1) / most_staging;
  const auto piece = [&](std::size_t i) {
    const std::size_t begin = i * most_staging;
    return dst.subspan(begin, std::min<std::size_t>(most_staging, dst.size() - begin));
  };
  const auto start = [&](std::size_t i, ze_event_handle_t begun) {
    Staging& staging = downloads_[i % downloads_.size()];
    settle(staging, lock);
    check_usable();
    const std::uint64_t bytes = piece(i).size();
    if (staging.bytes < bytes) create_staging(staging, staging_for(bytes));
    append_piece(staging.data, of(src).data + offset + i * most_staging, bytes, staging, true,
                 begun);
    if (begun == nullptr) reached = appended_;
  };
  const auto finish = [&](std::size_t i) {
    Staging& staging = downloads_[i % downloads_.size()];
    settle(staging, lock);
    without(lock, [&] { std::memcpy(piece(i).data(), staging.data, piece(i).size()); });
  };
  transfer(of(src), dst.size(), [&](ze_event_handle_t begun) {
    std::size_t started = 0;
    std::size_t finished = 0;
    while (finished < pieces) {
      if (started < pieces && started - finished < downloads_.size()) {
        start(started++, begun);
      } else {
        finish(finished++);
      }
    }
  });
  done_up_to(reached);
}

}  // namespace tilewright::level_zero
