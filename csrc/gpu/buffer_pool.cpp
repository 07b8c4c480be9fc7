#include "gpu/buffer_pool.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

/// Requests within an eighth of each other share a class; never above what the device takes.
std::uint64_t size_class(std::uint64_t bytes, std::uint64_t most) {
  std::uint64_t step = 256;
  while (step * 16 < bytes) step *= 2;
  return std::max((bytes + 3) / 4 * 4, std::min((bytes + step - 1) / step * step, most / 4 * 4));
}

}  // namespace

std::shared_ptr<Allocation> BufferPool::allocate(std::uint64_t bytes) {
  const std::uint64_t size = size_class(bytes, device_->limits().max_buffer_bytes);
  std::unique_ptr<DeviceBuffer> buffer;
  {
    std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<DeviceBuffer>>& kept = shelf(size).buffers;
    if (!kept.empty()) {
      buffer = std::move(kept.back());
      kept.pop_back();
      cached_bytes_ -= size;
    }
  }
  if (!buffer) buffer = create(bytes, size);
  return std::make_shared<GpuAllocation>(bytes, std::move(buffer), shared_from_this());
}

std::unique_ptr<DeviceBuffer> BufferPool::create(std::uint64_t bytes, std::uint64_t size) {
  try {
    return device_->create_buffer(size);
  } catch (const OutOfMemory&) {
    trim();
    device_->wait();
  }
  try {
    return device_->create_buffer(size);
  } catch (const OutOfMemory&) {
    throw OutOfMemory(
        text("alloc: ", bytes, " bytes asked for, but the device is full; free some buffers"),
        bytes);
  }
}

BufferPool::Shelf& BufferPool::shelf(std::uint64_t size) {
  Shelf& found = free_[size];
  found.used = ++uses_;
  return found;
}

void BufferPool::put_back(std::unique_ptr<DeviceBuffer> buffer) noexcept {
  try {
    std::vector<std::unique_ptr<DeviceBuffer>> dropped;
    std::lock_guard lock(mutex_);
    const std::uint64_t size = buffer->bytes();
    if (size > cache_limit_) return;
    std::vector<std::unique_ptr<DeviceBuffer>>& kept = shelf(size).buffers;
    while (cached_bytes_ + size > cache_limit_) {
      const auto oldest = std::ranges::min_element(free_, {}, [](const auto& entry) {
        return entry.second.buffers.empty() ? ~std::uint64_t{0} : entry.second.used;
      });
      dropped.push_back(std::move(oldest->second.buffers.back()));
      oldest->second.buffers.pop_back();
      cached_bytes_ -= oldest->first;
    }
    kept.push_back(std::move(buffer));
    cached_bytes_ += size;
  } catch (const std::bad_alloc&) {
    // No room to remember the buffer: it is released instead.
  }
}

void BufferPool::trim() {
  std::map<std::uint64_t, Shelf> buffers;
  std::lock_guard lock(mutex_);
  buffers.swap(free_);
  cached_bytes_ = 0;
}

}  // namespace tilewright::gpu
