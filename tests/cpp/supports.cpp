// What a backend can do, asked of its planners.

#include <doctest/doctest.h>

#include <algorithm>

#include "asked_device.hpp"
#include "recording_backend.hpp"

namespace tilewright {
namespace {

TEST_CASE("supports: nothing is compiled, launched or taken") {
  gpu::Opened opened;
  const int buffers = opened.asked.buffers;
  const auto ops = opened.backend.available_ops();
  CHECK(std::ranges::find(ops, "attention") != ops.end());
  CHECK(opened.backend.supports("gemm"));
  CHECK(opened.backend.supports("map", DType::int32, "bitwise_and"));
  CHECK_FALSE(opened.backend.supports("gemm", DType::float16));
  CHECK_FALSE(opened.backend.supports("map", DType::float64));
  CHECK_FALSE(opened.backend.supports("map", DType::float32, "bitwise_and"));
  CHECK(opened.asked.compiled.empty());
  CHECK(opened.asked.grids.empty());
  CHECK(opened.asked.buffers == buffers);
  CHECK(opened.backend.memory_stats().peak_bytes == 0);
  opened.relu(5);
  CHECK(opened.asked.grids.size() == 1);
}

TEST_CASE("supports: plans follow the compute units") {
  const auto pieces = [](Size units) {
    gpu::Opened opened({.compute_units = units});
    const Buffer a = opened.backend.alloc(4 * 4096 * 64), c = opened.backend.alloc(4 * 64 * 64);
    opened.backend.gemm(Transpose::none, Transpose::none, 64, 64, 4096, 1, a, 4096, a, 64, 0, c,
                        64);
    const auto grid = opened.asked.grids.at(0);
    return grid[0] * grid[1] * grid[2];
  };
  CHECK(pieces(1) < pieces(8));
  CHECK(pieces(8) < pieces(132));
}

}  // namespace
}  // namespace tilewright
