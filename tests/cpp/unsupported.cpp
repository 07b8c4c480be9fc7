#include <doctest/doctest.h>

#include <array>

#include "core/requests.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {
namespace {

/// Memory and nothing else.
class OplessBackend final : public Backend {
 public:
  OplessBackend() : Backend("opless", {}) { init(); }
  ~OplessBackend() override { close(); }

 private:
  void do_init() override {}
  void do_close() noexcept override {}
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override {}
  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    return std::make_shared<Allocation>(bytes);
  }
  std::uint64_t do_max_buffer_bytes() const override { return 1 << 20; }
  std::uint64_t do_memory_limit() const override { return 1 << 20; }
  std::uint64_t do_cached_bytes() const override { return 0; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override {}
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {}
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {}
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {}
};

TEST_CASE("a backend without an op says so, with the op's and its own name") {
  OplessBackend be;
  const Buffer x = be.alloc(64), y = be.alloc(64), z = be.alloc(64), out = be.alloc(64);
  constexpr auto none = Transpose::none;
  constexpr Shape4 one{1, 1, 1, 1};
  constexpr std::array<Size, 1> shape{4}, stride{1};
  const auto lacks = [](const char* op, auto call) {
    CAPTURE(op);
    const std::string message = std::string(op) + ": the opless backend does not have this op";
    CHECK_THROWS_WITH_AS(call(), message.c_str(), Unsupported);
  };
  lacks("gemm", [&] { be.gemm(none, none, 2, 2, 2, 1, x, 2, y, 2, 0, out, 2); });
  lacks("batched_gemm",
        [&] { be.batched_gemm(none, none, 2, 2, 2, 1, x, 2, 4, y, 2, 4, 0, out, 2, 4, 2); });
  lacks("gemm_f16", [&] { be.gemm_f16(none, none, 2, 2, 2, 1, x, 2, y, 2, 0, out, 2); });
  lacks("gemm_mixed_precision", [&] {
    be.gemm_mixed_precision(Precision::bfloat16, none, none, 2, 2, 2, 1, x, 2, y, 2, 0, out, 2);
  });
  lacks("matmul_vec", [&] { be.matmul_vec(x, 2, 2, y, out); });
  lacks("conv2d_forward", [&] { be.conv2d_forward(x, one, y, one, out, one, {1, 1}, {0, 0}); });
  lacks("conv2d_backward_data",
        [&] { be.conv2d_backward_data(x, one, y, one, out, one, {1, 1}, {0, 0}); });
  lacks("conv2d_backward_filter",
        [&] { be.conv2d_backward_filter(x, one, y, one, out, one, {1, 1}, {0, 0}); });
  lacks("attention", [&] { be.attention(x, y, z, out, 1, 1, 2, 2, 2, 1, false); });
  lacks("attention_scores", [&] { be.attention_scores(x, y, out, 2, 2, 1); });
  lacks("weighted_sum", [&] { be.weighted_sum(x, y, out, 2, 2); });
  lacks("softmax", [&] { be.softmax(x, out, shape, 0); });
  lacks("rmsnorm", [&] { be.rmsnorm(x, y, out, 2, 2, 0); });
  lacks("layer_norm", [&] { be.layer_norm(x, y, z, out, 2, 2, 0); });
  lacks("rope", [&] { be.rope(x, y, z, out, 1, 1, 1, 2, 1); });
  lacks("gather", [&] { be.gather(x, y, out, 2, 2, 2); });
  lacks("scatter", [&] { be.scatter(x, y, out, 2, 2, 2); });
  lacks("unary", [&] { be.unary(UnaryOp::relu, x, out, 4); });
  lacks("unary", [&] { be.silu(x, out, 4); });
  lacks("unary", [&] { be.gelu(x, out, 4); });
  lacks("binary", [&] { be.binary(BinaryOp::add, x, y, out, 4); });
  lacks("binary", [&] { be.binary_broadcast(BinaryOp::add, x, stride, y, stride, out, shape); });
  lacks("reduce", [&] { be.reduce(ReduceOp::sum, x, out, shape, 0); });
  lacks("cast", [&] { be.cast(x, DType::float32, out, DType::float16, 4); });
  Program program;
  program.output(program.input(DType::float32));
  const std::array inputs{MapOperand{x}}, outputs{MapOperand{out}};
  const std::array<Size, 1> axes{0};
  lacks("map_reduce",
        [&] { be.map_reduce(program, Reduction::sum, shape, axes, inputs, {}, outputs); });
  const std::array indices{IndexOperand{{y}, DType::int32, 2, 1}};
  lacks("gather_elements", [&] { be.gather_elements({x}, indices, {out}, stride); });
  lacks("scatter_elements", [&] { be.scatter_elements({x}, indices, {out}, stride); });
  lacks("mask_counts", [&] { be.mask_counts(x, out, 4); });
  lacks("compact", [&] { be.compact(x, y, z, out, 4, 4); });
  lacks("nonzero", [&] { be.nonzero(x, y, out, shape, 1); });
  lacks("search_sorted", [&] { be.search_sorted(x, y, out, 2, 2); });
  lacks("scan", [&] { be.scan(program, ScanOp::sum, shape, 0, inputs, {}, outputs[0]); });
  lacks("sort", [&] { be.sort(x, out, 2, 2); });
  lacks("argsort", [&] { be.argsort(x, out, 1, 2); });
  lacks("topk", [&] { be.topk(x, y, out, 1, 4, 1); });
}

}  // namespace
}  // namespace tilewright
