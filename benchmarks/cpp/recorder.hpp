// What a GPU backend launches, taken down from it, for benchmarks that launch the same with raw
// calls.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/backend.hpp"
#include "tilewright/tilewright.hpp"

namespace tilewright {

/// One launch, as the backend asks its device for it.
struct Recorded {
  gpu::KernelDescription kernel;
  KernelInfo info;
  std::vector<std::byte> params;
  std::array<std::uint32_t, 3> grid;
};

/// Does nothing and remembers the last launch.
class Recorder final : public gpu::Device {
 public:
  /// Reads what a kernel's code declares.
  using Read = std::function<KernelInfo(const gpu::KernelDescription&)>;

  Recorder(Recorded& recorded, gpu::KernelLanguage language, Read read)
      : recorded_(recorded), language_(language), read_(std::move(read)) {
    limits_.max_buffer_bytes = limits_.max_binding_bytes = std::uint64_t{1} << 30;
    limits_.local_memory_bytes = 48 << 10;
    const bool has_wgsl = language == gpu::KernelLanguage::wgsl;
    limits_.compiles_templates = limits_.counts_bindings = has_wgsl;
  }
  DeviceInfo info() const override { return {}; }
  const gpu::DeviceLimits& limits() const override { return limits_; }
  gpu::KernelLanguage language() const override { return language_; }
  std::uint32_t subgroup_size() override { return 32; }
  std::unique_ptr<gpu::DeviceBuffer> create_buffer(std::uint64_t bytes) override {
    return std::make_unique<gpu::DeviceBuffer>(bytes);
  }
  std::unique_ptr<gpu::Pipeline> create_pipeline(const gpu::KernelDescription& kernel) override {
    recorded_.kernel = kernel;
    recorded_.info = read_(kernel);
    return std::make_unique<gpu::Pipeline>(recorded_.info);
  }
  void launch(const gpu::Launch& launch) override {
    recorded_.params.assign(launch.params.begin(), launch.params.end());
    recorded_.grid = launch.grid;
  }
  void upload(gpu::DeviceBuffer&, std::uint64_t, std::span<const std::byte>) override {}
  void download(std::span<std::byte>, gpu::DeviceBuffer&, std::uint64_t) override {}
  void copy(gpu::DeviceBuffer&, std::uint64_t, gpu::DeviceBuffer&, std::uint64_t,
            std::uint64_t) override {}
  std::uint64_t start_download(HostRead, gpu::DeviceBuffer&, std::uint64_t) override { return 0; }
  void wait() override {}
  std::uint64_t mark() override { return 0; }
  bool reach(std::uint64_t, std::chrono::steady_clock::time_point) override { return true; }
  void flush() override {}
  void begin_timing() override {}
  std::vector<LaunchRecord> end_timing() override { return {}; }

 private:
  Recorded& recorded_;
  const gpu::KernelLanguage language_;
  const Read read_;
  gpu::DeviceLimits limits_;
};

/// The last launch of op(backend).
template <class Op>
Recorded record(gpu::KernelLanguage language, const Recorder::Read& read, const Op& op) {
  Recorded recorded;
  gpu::GpuBackend backend("recorder", {}, [&](const Config&, gpu::DeviceUse) {
    return std::make_shared<Recorder>(recorded, language, read);
  });
  backend.init();
  op(backend);
  return recorded;
}

inline constexpr Size small = 1024;  // elements of the small op

}  // namespace tilewright
