#include <algorithm>
#include <bit>
#include <cstring>

#include "webgpu/objects.hpp"

// Copies between host and device go through staging buffers, several at once: while the host fills
// or empties one, the GPU copies another.
namespace tilewright::webgpu {

namespace {

constexpr std::uint64_t least_staging = 64 << 10;
constexpr std::uint64_t most_staging = 4 << 20;

std::uint64_t staging_for(std::uint64_t bytes) {
  return std::bit_ceil(std::clamp(bytes, least_staging, most_staging));
}

}  // namespace

// Uploads are copies in the open encoder, so they stay in the order of the calls. Small ones share
// the staging buffer in turn until the encoder goes out.
void Device::upload(gpu::DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) {
  Turn turn(*this);
  check_usable();
  while (!src.empty()) {
    Staging& staging = upload_room(turn, src.size());
    const std::uint64_t now = std::min<std::uint64_t>(src.size(), staging.bytes() - upload_used_);
    std::memcpy(staging.data() + upload_used_, src.data(), now);
    gathered_work_ += encoding_.copy(staging.buffer(), upload_used_, of(dst).handle, offset, now);
    upload_used_ += now;
    offset += now;
    src = src.subspan(now);
    // What took long to write is worth a submission of its own.
    if (now >= least_staging || upload_used_ == staging.bytes()) submit();
  }
  flush_if_worthwhile();
}

/// The staging buffer in turn, with room in it. Lets go of the lock while it waits for one.
Staging& Device::upload_room(Turn& turn, std::uint64_t bytes) {
  for (;;) {
    Staging& staging = uploads_[upload_turn_];
    if (staging.pending()) {
      turn.unlock();
      await(staging);
      turn.lock();
      check_usable();
      continue;
    }
    if (upload_used_ == 0 && (!staging.mapped() || staging.bytes() < staging_for(bytes))) {
      staging.create(api_, device_, staging_for(bytes));
      try {
        throw_failure("an upload");
      } catch (...) {
        staging.release();
        throw;
      }
    }
    return staging;
  }
}

void Device::start_read(Staging& staging, WGPUBuffer src, std::uint64_t offset,
                        std::uint64_t bytes) {
  if (staging.bytes() < bytes) {
    staging.create(api_, device_, staging_for(bytes));
    try {
      throw_failure("a download");
    } catch (...) {
      staging.release();
      throw;
    }
  }
  (void)encoding_.copy(src, offset, staging.buffer(), 0, bytes);
  submit();
  staging.map(bytes, last_submission_);
}

void Device::await(const Staging& staging) {
  look_until([&] { return !staging.pending(); });
}

void Device::finish_read(Staging& staging, std::span<std::byte> dst) {
  await(staging);
  if (const std::byte* data = staging.data()) {
    std::memcpy(dst.data(), data, dst.size());
    staging.unmap();
    return;
  }
  const Turn turn(*this);
  check_usable();
  throw_failure("a download");
  throw DeviceError("webgpu: a download: the staging buffer could not be mapped");
}

void Device::download(std::span<std::byte> dst, gpu::DeviceBuffer& src, std::uint64_t offset) {
  std::lock_guard alone(download_mutex_);
  const std::size_t pieces = (dst.size() + most_staging - 1) / most_staging;
  const auto piece = [&](std::size_t i) {
    const std::size_t begin = i * most_staging;
    return dst.subspan(begin, std::min<std::size_t>(most_staging, dst.size() - begin));
  };
  std::size_t started = 0;
  std::size_t finished = 0;
  try {
    while (finished < pieces) {
      if (started < pieces && started - finished < downloads_.size()) {
        const Turn turn(*this);
        check_usable();
        start_read(downloads_[started % downloads_.size()], of(src).handle,
                   offset + started * most_staging, piece(started).size());
        ++started;
      } else {
        finish_read(downloads_[finished % downloads_.size()], piece(finished));
        ++finished;
      }
    }
  } catch (...) {
    for (Staging& staging : downloads_) {
      await(staging);
      if (staging.mapped()) staging.unmap();
    }
    throw;
  }
  const Turn turn(*this);
  if (downloads_[(pieces - 1) % downloads_.size()].submission() == last_submission_) {
    queue_is_empty();
  }
}

}  // namespace tilewright::webgpu
