// What the GPU backend asks of its device, whatever the API.

#include <doctest/doctest.h>

#include <vector>

#include "gpu/backend.hpp"

namespace tilewright::gpu {
namespace {

/// What was asked of the device. It may hold so many bytes.
struct Asked {
  std::vector<std::string> compiled;  ///< texts of kernels
  std::vector<std::array<std::uint32_t, 3>> grids;
  std::vector<std::size_t> params;            ///< bytes of each launch
  std::vector<std::uint64_t> output_lengths;  ///< of each launch's last binding
  std::uint64_t room = ~std::uint64_t{0}, held = 0;
  int waits = 0;
};

class CountedBuffer final : public DeviceBuffer {
 public:
  CountedBuffer(std::uint64_t bytes, Asked& asked) : DeviceBuffer(bytes), asked_(asked) {
    asked_.held += bytes;
  }
  ~CountedBuffer() override { asked_.held -= bytes(); }

 private:
  Asked& asked_;
};

class AskedDevice final : public Device {
 public:
  explicit AskedDevice(Asked& asked) : asked_(asked) {
    limits_.max_buffer_bytes = limits_.max_binding_bytes = 1 << 30;
    limits_.max_group_size = 1024;
  }
  DeviceInfo info() const override { return {}; }
  const DeviceLimits& limits() const override { return limits_; }
  KernelLanguage language() const override { return KernelLanguage::wgsl; }
  std::uint32_t subgroup_size() override { return 16; }
  std::unique_ptr<DeviceBuffer> create_buffer(std::uint64_t bytes) override {
    if (asked_.held + bytes > asked_.room) throw OutOfMemory("the device is full", bytes);
    return std::make_unique<CountedBuffer>(bytes, asked_);
  }
  std::unique_ptr<Pipeline> create_pipeline(const KernelDescription& kernel) override {
    asked_.compiled.push_back(kernel.code.text);
    return std::make_unique<Pipeline>(KernelInfo{});
  }
  void launch(const Launch& launch) override {
    asked_.grids.push_back(launch.grid);
    asked_.params.push_back(launch.params.size());
    asked_.output_lengths.push_back(launch.bindings.back().bytes);
  }
  void upload(DeviceBuffer&, std::uint64_t, std::span<const std::byte>) override {}
  void download(std::span<std::byte>, DeviceBuffer&, std::uint64_t) override {}
  void copy(DeviceBuffer&, std::uint64_t, DeviceBuffer&, std::uint64_t, std::uint64_t) override {}
  void wait() override { ++asked_.waits; }
  void begin_timing() override {}
  std::vector<LaunchRecord> end_timing() override { return {}; }

 private:
  Asked& asked_;
  DeviceLimits limits_;
};

struct Opened {
  explicit Opened(Config config = {})
      : backend("webgpu", std::move(config),
                [this](const Config&) { return std::make_shared<AskedDevice>(asked); }) {
    backend.init();
  }
  void relu(Size n) {
    const Buffer x = backend.alloc(4 * n), y = backend.alloc(4 * n);
    backend.unary(UnaryOp::relu, x, y, n);
    backend.free(x);
    backend.free(y);
  }
  Asked asked;
  GpuBackend backend;
};

TEST_CASE("gpu backend: a kernel is compiled once, or at each use without the cache") {
  Opened kept;
  for (int i = 0; i < 3; ++i) kept.relu(100);
  CHECK(kept.asked.compiled.size() == 1);
  Opened anew({.enable_pipeline_cache = false});
  for (int i = 0; i < 3; ++i) anew.relu(100);
  CHECK(anew.asked.compiled.size() == 3);
  CHECK(anew.asked.grids.size() == 3);
}

TEST_CASE("gpu backend: elementwise kernels have the workgroup size that is preferred") {
  const auto group_of = [](std::optional<Size> preferred, const char* expected) {
    Opened opened({.preferred_workgroup_size = preferred});
    opened.relu(1'000'000);
    CHECK(opened.asked.compiled.at(0).find(expected) != std::string::npos);
    const auto hints = opened.backend.performance_hints();
    return std::pair(hints.preferred_workgroup_size, opened.asked.grids.at(0)[0]);
  };
  const auto [usual, usual_groups] = group_of(std::nullopt, "@workgroup_size(256)");
  CHECK(usual == 256);
  const auto [small, small_groups] = group_of(64, "@workgroup_size(64)");
  CHECK(small == 64);
  CHECK(small_groups >= 4 * usual_groups - 4);
  const auto [most, groups] = group_of(1 << 30, "@workgroup_size(1024)");
  CHECK(most == 1024);
  CHECK(groups < usual_groups);
}

TEST_CASE(
    "gpu backend: the length of an output says how many fill whole vectors, where they are few") {
  Opened opened;
  const Buffer x = opened.backend.alloc(4096), y = opened.backend.alloc(4096);
  opened.backend.unary(UnaryOp::relu, x, y, 1000);
  opened.backend.binary(BinaryOp::add, x, y, y, 20);
  opened.backend.cast(x, DType::float32, y, DType::float16, 12);
  CHECK(opened.asked.params == std::vector<std::size_t>{0, 0, 0});
  CHECK(opened.asked.output_lengths == std::vector<std::uint64_t>{4000, 80, 24});
  opened.backend.unary(UnaryOp::relu, x, y, 999);
  CHECK(opened.asked.params.back() > 0);
  CHECK(opened.asked.output_lengths.back() >= 4000);
  CHECK(opened.asked.compiled.size() == 4);
  opened.relu(1 << 20);  // the kernel that takes parameters again
  CHECK(opened.asked.params.back() > 0);
  CHECK(opened.asked.compiled.size() == 4);
}

TEST_CASE("gpu backend: capabilities have the subgroup size and the lowered buffer size") {
  Opened opened({.max_buffer_size = 5000});
  CHECK(opened.backend.capabilities().limits.at("subgroup_size") == 16);
  CHECK(opened.backend.performance_hints().simd_width == 16);
  CHECK(opened.backend.capabilities().max_buffer_bytes == 5000);
  CHECK_THROWS_AS(opened.backend.alloc(5001), InvalidArgument);
}

TEST_CASE("gpu backend: a full device gets its cached memory back before it refuses") {
  Opened opened;
  opened.asked.room = 10'000;
  const Buffer a = opened.backend.alloc(6000);
  opened.backend.free(a);
  CHECK(opened.backend.memory_stats().cached_bytes >= 6000);
  // Of another size class, so that the cached one does not serve it.
  const Buffer b = opened.backend.alloc(9000);
  CHECK(opened.asked.waits == 1);
  CHECK(opened.backend.memory_stats().cached_bytes == 0);
  CHECK_THROWS_AS(opened.backend.alloc(6000), OutOfMemory);
  CHECK(opened.backend.memory_stats().allocations == 1);
  opened.backend.free(b);
}

TEST_CASE("gpu backend: of cached memory that of the sizes lately used is kept") {
  Opened opened;
  const auto use = [&](Size bytes) { opened.backend.free(opened.backend.alloc(bytes)); };
  constexpr Size mebibyte = 1 << 20;
  for (Size size : {96, 120, 96}) use(size * mebibyte);
  use(80 * mebibyte);  // for which the room of all three is too much
  CHECK(opened.asked.held == (96 + 80) * mebibyte);
  CHECK(opened.backend.memory_stats().cached_bytes == (96 + 80) * mebibyte);
  use(300 * mebibyte);  // more than is ever kept
  CHECK(opened.asked.held == (96 + 80) * mebibyte);
}

TEST_CASE("gpu backend: live and cached bytes stay within memory_limit") {
  Opened opened({.memory_limit = 10'000});
  opened.backend.free(opened.backend.alloc(4096));
  const Buffer b = opened.backend.alloc(6000);
  const MemoryStats stats = opened.backend.memory_stats();
  CHECK(stats.active_bytes + stats.cached_bytes <= 10'000);
  CHECK_THROWS_WITH_AS(opened.backend.alloc(5000), doctest::Contains("6000 of 10000"), OutOfMemory);
  opened.backend.free(b);
  opened.backend.trim();
  CHECK(opened.asked.held == 0);
}

}  // namespace
}  // namespace tilewright::gpu
