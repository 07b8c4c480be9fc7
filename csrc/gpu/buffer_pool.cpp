#include "gpu/buffer_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/text.hpp"
#include "gpu/recorder.hpp"

namespace tilewright::gpu {

namespace {

/// Let go of, but maybe still in use by queued work: with more than this a new buffer waits.
constexpr std::uint64_t most_dropped_bytes = 256 << 20;
/// Left free once the device has refused, for what its driver needs beside buffers.
constexpr std::uint64_t most_headroom = 64 << 20;

/// Requests within an eighth of each other share a class; never above what the device takes.
std::uint64_t size_class(std::uint64_t bytes, std::uint64_t most) {
  std::uint64_t step = 256;
  while (step * 16 < bytes) step *= 2;
  return std::max((bytes + 3) / 4 * 4, std::min((bytes + step - 1) / step * step, most / 4 * 4));
}

}  // namespace

AllocationRef BufferPool::allocate(std::uint64_t bytes) {
  return std::make_shared<GpuAllocation>(bytes, take("alloc", bytes), shared_from_this(), false);
}

AllocationRef BufferPool::at_hand(std::uint64_t bytes) {
  Handle kept = take_kept(size_class(bytes, device_->limits().max_buffer_bytes));
  if (!kept) return nullptr;
  return std::make_shared<GpuAllocation>(bytes, std::move(kept), shared_from_this(), false);
}

AllocationRef BufferPool::scratch(std::string_view op, std::uint64_t bytes) {
  if (!recorder_->records()) {
    PlanCapture* const capture = recorder_->capture();
    if (capture == nullptr) return new_scratch(op, bytes);
    try {
      AllocationRef taken = new_scratch(op, bytes);
      capture->note_scratch(taken);
      return taken;
    } catch (...) {
      capture->drop();  // with more room the op may go another way
      throw;
    }
  }
  if (AllocationRef again = recorder_->scratch(bytes)) return again;
  AllocationRef taken = new_scratch(op, bytes);
  recorder_->keep_scratch(taken, true);
  return taken;
}

AllocationRef BufferPool::written_once(std::string_view op, std::uint64_t bytes) {
  AllocationRef taken = new_scratch(op, bytes);
  if (recorder_->records()) recorder_->keep_scratch(taken, false);
  return taken;
}

AllocationRef BufferPool::new_scratch(std::string_view op, std::uint64_t bytes) {
  if (recorder_->rehearses()) [[unlikely]]
    return std::make_shared<GpuAllocation>(bytes);
  budget_->take_scratch(op, bytes);
  try {
    Handle buffer = take(op, bytes);
    budget_->note_peaks();
    return std::make_shared<GpuAllocation>(bytes, std::move(buffer), shared_from_this(), true);
  } catch (...) {
    budget_->give_back_scratch(bytes);
    throw;
  }
}

AllocationRef BufferPool::try_scratch(std::string_view op, std::uint64_t bytes) {
  try {
    return scratch(op, bytes);
  } catch (const OutOfMemory&) {
    return nullptr;
  }
}

BufferPool::Handle BufferPool::take(std::string_view op, std::uint64_t bytes) {
  const std::uint64_t size = size_class(bytes, device_->limits().max_buffer_bytes);
  if (Handle kept = take_kept(size)) return kept;
  return create(op, bytes, size);
}

BufferPool::Handle BufferPool::take_kept(std::uint64_t size) {
  std::lock_guard lock(mutex_);
  auto kept = free_.take(size);
  if (!kept) return nullptr;
  cached_bytes_ = free_.bytes();
  return std::move(*kept);
}

BufferPool::Handle BufferPool::create(std::string_view op, std::uint64_t bytes,
                                      std::uint64_t size) {
  bool must_wait = false;
  {
    std::vector<Handle> dropped;
    std::lock_guard lock(mutex_);
    drop_until([&] { return free_.bytes() <= budget_->room(); }, dropped);
    must_wait = dropped_bytes_ > most_dropped_bytes ||
                (dropped_bytes_ > 0 && free_.bytes() + dropped_bytes_ > budget_->room());
  }
  if (must_wait) wait_for_dropped();
  for (;;) {
    try {
      Handle buffer = device_->create_buffer(size);
      std::lock_guard lock(mutex_);
      on_device_ += size;
      // As much as it refused before: others have let go of memory.
      if (on_device_ >= refused_) refused_ = comfortable_ = ~std::uint64_t{0};
      return buffer;
    } catch (const OutOfMemory&) {
      if (give_way(size)) continue;
    }
    throw OutOfMemory(
        text(op, ": ", bytes, " bytes asked for, but the device is full; free some buffers"),
        bytes);
  }
}

void BufferPool::put_back(Handle buffer) noexcept {
  std::vector<Handle> dropped;
  const std::uint64_t size = buffer->bytes();
  std::lock_guard lock(mutex_);
  try {
    const auto fits = [&] {
      return free_.bytes() + size <= std::min(cache_limit_, budget_->room()) &&
             on_device_ <= comfortable_;
    };
    if (size <= std::min(cache_limit_, budget_->room())) drop_until(fits, dropped);
    if (fits()) {
      free_.put(size, std::move(buffer));
      cached_bytes_ = free_.bytes();
      return;
    }
  } catch (const std::bad_alloc&) {
    // No room to remember the buffer: it is released instead.
  }
  on_device_ -= size;
  dropped_bytes_ += size;
}

template <class Enough>
void BufferPool::drop_until(const Enough& enough, std::vector<Handle>& dropped) {
  while (free_.bytes() > 0 && !enough()) {
    dropped.emplace_back();
    dropped.back() = free_.take_oldest();
    on_device_ -= dropped.back()->bytes();
    dropped_bytes_ += dropped.back()->bytes();
  }
  cached_bytes_ = free_.bytes();
}

bool BufferPool::give_way(std::uint64_t bytes) {
  {
    std::vector<Handle> dropped;
    std::lock_guard lock(mutex_);
    if (free_.bytes() + dropped_bytes_ == 0) return false;
    refused_ = on_device_ + bytes;
    const std::uint64_t headroom = std::min(refused_ / 16, most_headroom);
    comfortable_ = refused_ - headroom;
    const std::uint64_t before = on_device_;
    drop_until([&] { return before - on_device_ >= std::max(bytes, headroom); }, dropped);
  }
  wait_for_dropped();
  return true;
}

void BufferPool::wait_for_dropped() {
  std::uint64_t waited_for = 0;
  {
    std::lock_guard lock(mutex_);
    waited_for = dropped_bytes_;
  }
  device_->wait();
  std::lock_guard lock(mutex_);
  dropped_bytes_ -= std::min(dropped_bytes_, waited_for);
}

void BufferPool::trim() {
  std::vector<Handle> dropped;
  std::lock_guard lock(mutex_);
  drop_until([] { return false; }, dropped);
  refused_ = comfortable_ = ~std::uint64_t{0};
}

}  // namespace tilewright::gpu
