#include <algorithm>
#include <cstring>

#include "webgpu/objects.hpp"

// Copies between host and device.
namespace tilewright::webgpu {

namespace {

constexpr std::uint64_t staging_bytes = 8 << 20;

}  // namespace

void Device::upload(gpu::DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) {
  std::lock_guard lock(mutex_);
  check_usable();
  Buffer& buffer = of(dst);
  // A write goes before the next submit, so it must not overtake gathered work on this buffer.
  if (buffer.last_encoder == encoder_number_) flush();
  api().QueueWriteBuffer(queue_, buffer.handle, offset, src.data(), src.size());
  throw_failure("an upload");
}

void Device::start_read(Staging& staging, WGPUBuffer src, std::uint64_t offset,
                        std::uint64_t bytes) {
  if (staging.buffer == nullptr) {
    staging.buffer =
        raw_buffer(staging_bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "staging");
    staging.bytes = staging_bytes;
  }
  end_pass();
  api().CommandEncoderCopyBufferToBuffer(encoder(), src, offset, staging.buffer, 0, bytes);
  flush();
  staging.submitted = last_submission_;
  staging.map_done = staging.map_failed = false;
  WGPUBufferMapCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = &staging;
  callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* of, void*) {
    static_cast<Staging*>(of)->map_done = true;
    static_cast<Staging*>(of)->map_failed = status != WGPUMapAsyncStatus_Success;
  };
  api().BufferMapAsync(staging.buffer, WGPUMapMode_Read, 0, bytes, callback);
}

void Device::finish_read(Staging& staging, std::byte* dst, std::uint64_t bytes) {
  poll_until(staging.submitted);
  if (!staging.map_done || staging.map_failed) {
    throw_failure("a download");
    throw DeviceError("webgpu: a download: the staging buffer could not be mapped");
  }
  std::memcpy(dst, api().BufferGetConstMappedRange(staging.buffer, 0, bytes), bytes);
  api().BufferUnmap(staging.buffer);
}

void Device::download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) {
  std::lock_guard lock(mutex_);
  check_usable();
  const std::uint64_t total = dst.size();
  const auto piece = [&](std::uint64_t at) { return std::min(staging_bytes, total - at); };
  start_read(staging_[0], of(src).handle, offset, piece(0));
  std::size_t turn = 0;
  for (std::uint64_t at = 0; at < total; at += staging_bytes, turn ^= 1) {
    const std::uint64_t next = at + staging_bytes;
    if (next < total) start_read(staging_[turn ^ 1], of(src).handle, offset + next, piece(next));
    finish_read(staging_[turn], dst.data() + at, piece(at));
  }
}

}  // namespace tilewright::webgpu
