// What the GPU backend asks of its device, whatever the API.

#include <doctest/doctest.h>

#include <vector>

#include "asked_device.hpp"

namespace tilewright::gpu {
namespace {

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

TEST_CASE("gpu backend: a binding is no larger than kernels can count") {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  CHECK(counted_binding_bytes(1 << 20) == 1 << 20);
  CHECK(counted_binding_bytes(1023) == 1020);
  CHECK(counted_binding_bytes(all - 4) == all - 4);
  CHECK(counted_binding_bytes(all) == all - 4);
  CHECK(counted_binding_bytes(16 * all) == all - 4);
}

}  // namespace
}  // namespace tilewright::gpu
