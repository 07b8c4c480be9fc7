#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/backend.hpp"

namespace tilewright::gpu {

/// What was asked of the device. It may hold so many bytes.
struct Asked {
  std::vector<std::string> compiled;  ///< texts of kernels
  std::vector<std::array<std::uint32_t, 3>> grids;
  std::vector<std::size_t> params;            ///< bytes of each launch
  std::vector<std::uint64_t> output_lengths;  ///< of each launch's last binding
  std::vector<std::byte> last_params;
  std::uint64_t room = ~std::uint64_t{0}, held = 0;
  std::uint64_t staging = 0;  ///< bytes that an upload or a download takes
  DeviceKind kind = DeviceKind::discrete;
  int waits = 0, buffers = 0, pipelines = 0;  ///< of buffers all that were made
  int launches_left = 1 << 30;
};

class CountedBuffer final : public DeviceBuffer {
 public:
  CountedBuffer(std::uint64_t bytes, Asked& asked) : DeviceBuffer(bytes), asked_(asked) {
    asked_.held += bytes;
    ++asked_.buffers;
  }
  ~CountedBuffer() override { asked_.held -= bytes(); }

 private:
  Asked& asked_;
};

class CountedPipeline final : public Pipeline {
 public:
  explicit CountedPipeline(Asked& asked) : Pipeline(KernelInfo{}), asked_(asked) {
    ++asked_.pipelines;
  }
  ~CountedPipeline() override { --asked_.pipelines; }

 private:
  Asked& asked_;
};

class AskedDevice final : public Device {
 public:
  explicit AskedDevice(Asked& asked) : asked_(asked) {
    limits_.max_buffer_bytes = limits_.max_binding_bytes = 1 << 30;
    limits_.max_group_size = 1024;
    limits_.compiles_templates = limits_.counts_bindings = limits_.tries_kernels = true;
  }
  DeviceInfo info() const override {
    DeviceInfo info;
    info.kind = asked_.kind;
    return info;
  }
  const DeviceLimits& limits() const override { return limits_; }
  KernelLanguage language() const override { return KernelLanguage::wgsl; }
  std::uint32_t subgroup_size() override { return 16; }
  std::unique_ptr<DeviceBuffer> create_buffer(std::uint64_t bytes) override {
    require_room(bytes);
    return std::make_unique<CountedBuffer>(bytes, asked_);
  }
  std::unique_ptr<Pipeline> create_pipeline(const KernelDescription& kernel) override {
    asked_.compiled.push_back(kernel.code.text);
    return std::make_unique<CountedPipeline>(asked_);
  }
  void launch(const Launch& launch) override {
    if (asked_.launches_left-- <= 0) throw DeviceError("no more launches");
    asked_.grids.push_back(launch.grid);
    asked_.params.push_back(launch.params.size());
    asked_.last_params.assign(launch.params.begin(), launch.params.end());
    asked_.output_lengths.push_back(launch.bindings.back().bytes);
  }
  void upload(DeviceBuffer&, std::uint64_t, std::span<const std::byte>) override {
    require_room(asked_.staging);
  }
  void download(std::span<std::byte>, DeviceBuffer&, std::uint64_t) override {
    require_room(asked_.staging);
  }
  void copy(DeviceBuffer&, std::uint64_t, DeviceBuffer&, std::uint64_t, std::uint64_t) override {}
  std::uint64_t start_download(HostRead, DeviceBuffer&, std::uint64_t) override {
    require_room(asked_.staging);
    return 0;
  }
  void wait() override { ++asked_.waits; }
  std::uint64_t mark() override { return 0; }
  bool reach(std::uint64_t, std::chrono::steady_clock::time_point) override { return true; }
  void flush() override {}
  void begin_timing() override {}
  std::vector<LaunchRecord> end_timing() override { return {}; }

 private:
  void require_room(std::uint64_t bytes) const {
    if (asked_.held + bytes > asked_.room) throw OutOfMemory("the device is full", bytes);
  }

  Asked& asked_;
  DeviceLimits limits_;
};

struct Opened {
  explicit Opened(Config config = {}, Asked first = {})
      : asked(std::move(first)),
        backend("webgpu", std::move(config),
                [this](const Config&, DeviceUse) { return std::make_shared<AskedDevice>(asked); }) {
    backend.init();
  }
  void relu(Size n) {
    const Buffer x = backend.alloc(4 * n), y = backend.alloc(4 * n);
    backend.unary(UnaryOp::relu, x, y, n);
    backend.free(x);
    backend.free(y);
  }
  void use(Size bytes) { backend.free(backend.alloc(bytes)); }
  Asked asked;
  GpuBackend backend;
};

}  // namespace tilewright::gpu
