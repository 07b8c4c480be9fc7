#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/device.hpp"
#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// When launches began and ended, by the GPU's clock. Each launch gets a pass of its own, which is
/// where WebGPU takes the time; the times of a submission are copied to buffers at its end. Not
/// synchronised: the device holds its lock.
class Timestamps {
 public:
  /// Of one submission.
  static constexpr std::uint32_t most_launches = 256;
  /// Of the buffers that times are copied to.
  static constexpr std::uint64_t buffer_bytes = 256 << 10;

  Timestamps(const Api& api, WGPUDevice device, WGPUQueue queue);
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  bool full() const { return open_ == most_launches; }
  /// Whether times of one more submission need add_buffer() first.
  bool needs_buffer() const;
  void add_buffer(std::unique_ptr<gpu::DeviceBuffer> buffer, WGPUBuffer handle);

  /// Begins the pass of the next launch.
  WGPUComputePassEncoder begin_pass(WGPUCommandEncoder encoder, std::string_view kernel,
                                    const std::array<std::uint32_t, 3>& grid);
  /// The last command of a submission.
  void resolve(WGPUCommandEncoder encoder);
  /// The open submission does not go out.
  void forget();

  /// All launches whose submissions are done; download(buffer, bytes, to) reads a buffer.
  template <class Download>
  std::vector<LaunchRecord> records(const Download& download) && {
    std::vector<std::vector<std::uint64_t>> ticks;
    for (const Results& results : results_) {
      ticks.emplace_back(results.used / sizeof(std::uint64_t));
      download(*results.buffer, ticks.back());
    }
    return std::move(*this).with_times(ticks);
  }

 private:
  struct Results {
    std::unique_ptr<gpu::DeviceBuffer> buffer;
    WGPUBuffer handle;
    std::uint64_t used = 0;
  };
  /// The first launch of a submission, and where its times are.
  struct Place {
    std::size_t launch, results;
    std::uint64_t offset;
  };
  std::vector<LaunchRecord> with_times(const std::vector<std::vector<std::uint64_t>>& ticks) &&;

  const Api& api_;
  WGPUQuerySet queries_ = nullptr;
  double nanoseconds_ = 1;  // of a tick
  std::vector<LaunchRecord> launches_;
  std::vector<Place> submissions_;
  std::vector<Results> results_;
  std::uint32_t open_ = 0;  // launches of the open submission, the last ones
};

}  // namespace tilewright::webgpu
