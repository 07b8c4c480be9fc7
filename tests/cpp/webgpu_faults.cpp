// Launches that no op makes: each is refused, and the device goes on.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "tilewright/error.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/device.hpp"

namespace tilewright::webgpu {
namespace {

constexpr const char* code =
    "struct Params { n: u32, by: u32 }\n"
    "@group(0) @binding(0) var<storage, read> x: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> y: array<u32>;\n"
    "var<immediate> params: Params;\n"
    "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
    "  if id.x < params.n { y[id.x] = x[id.x] * params.by; }\n"
    "}\n";

/// The first GPU, one that is emulated in software too, and a kernel on it.
class Fixture {
 public:
  static constexpr std::uint32_t n = 256;

  Fixture() {
    const std::span<const Adapter> found = adapters(false);
    REQUIRE_MESSAGE(!found.empty(), "these tests need a Vulkan driver, such as Mesa's lavapipe");
    device = std::make_unique<Device>(found.front(), Config{});
    gpu::KernelDescription kernel{"times", {code, {}}, "main", false};
    for (int line = 1; line < 10; ++line) kernel.code.lines.push_back({"times", line});
    pipeline = device->create_pipeline(kernel);
    x = device->create_buffer(4 * n);
    y = device->create_buffer(4 * n);
    std::vector<std::uint32_t> host(n);
    for (std::uint32_t i = 0; i < n; ++i) host[i] = i + 1;
    device->upload(*x, 0, std::as_bytes(std::span(host)));
  }

  void launch(std::span<const gpu::Binding> bindings, std::span<const std::uint32_t> params,
              std::array<std::uint32_t, 3> grid = {n / 64, 1, 1}) {
    device->launch({pipeline.get(), bindings, std::as_bytes(params), grid});
  }

  void refuses(const char* words, std::span<const gpu::Binding> bindings,
               std::span<const std::uint32_t> params,
               std::array<std::uint32_t, 3> grid = {n / 64, 1, 1}) {
    CHECK_THROWS_WITH_AS(launch(bindings, params, grid), doctest::Contains(words), DeviceError);
    computes();
  }

  void computes() {
    ++by_;
    const std::array<std::uint32_t, 2> params{n, by_};
    launch(whole(), params);
    std::vector<std::uint32_t> got(n);
    device->download(std::as_writable_bytes(std::span(got)), *y, 0);
    for (std::uint32_t i = 0; i < n; ++i) REQUIRE(got[i] == (i + 1) * by_);
  }

  std::array<gpu::Binding, 2> whole() const { return {{{x.get(), 0, 4 * n}, {y.get(), 0, 4 * n}}}; }

  std::unique_ptr<Device> device;
  std::unique_ptr<gpu::Pipeline> pipeline;
  std::unique_ptr<gpu::DeviceBuffer> x, y;
  const std::array<std::uint32_t, 2> params{n, 1};

 private:
  std::uint32_t by_ = 0;
};

TEST_CASE_FIXTURE(Fixture, "webgpu faults: ranges that do not fit their buffers") {
  auto bindings = whole();
  SUBCASE("an offset that is not aligned") { bindings[0] = {x.get(), 4, 16}; }
  SUBCASE("beyond the end") { bindings[0].bytes = 4 * n + 4; }
  SUBCASE("from beyond the end") { bindings[1] = {y.get(), std::uint64_t{1} << 20, 16}; }
  SUBCASE("a sum that wraps around") { bindings[1].offset = ~std::uint64_t{255}; }
  SUBCASE("one buffer, read and written") { bindings[1] = bindings[0]; }
  computes();
  // Some show at the launch, some once the pass ends.
  CHECK_THROWS_AS(
      {
        launch(bindings, params);
        device->wait();
      },
      DeviceError);
  computes();
  computes();
}

TEST_CASE_FIXTURE(Fixture, "webgpu faults: wrong numbers of buffers, parameters and workgroups") {
  const auto all = whole();
  const std::array three{all[0], all[1], all[0]};
  const std::array<std::uint32_t, 3> more{n, 1, 1};
  const char* shape = "times: launched with";
  refuses(shape, {}, params);
  refuses(shape, std::span(all).first(1), params);
  refuses(shape, three, params);
  refuses("and 4 bytes of parameters, it has 2 and 8", all, std::span(params).first(1));
  refuses("and 12 bytes of parameters, it has 2 and 8", all, more);
  const std::uint32_t most = device->limits().max_groups;
  for (int dimension = 0; dimension < 3; ++dimension) {
    std::array<std::uint32_t, 3> grid{1, 1, 1};
    grid[static_cast<std::size_t>(dimension)] = most + 1;
    refuses("workgroups in a dimension, which holds at most", all, params, grid);
  }
}

}  // namespace
}  // namespace tilewright::webgpu
