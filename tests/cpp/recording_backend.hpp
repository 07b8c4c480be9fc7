#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/requests.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

/// A backend that computes nothing and remembers every request that the trait lets through.
class RecordingBackend final : public Backend {
 public:
  using Request =
      std::variant<GemmRequest, MatmulVecRequest, Conv2dRequest, AttentionRequest,
                   AttentionScoresRequest, WeightedSumRequest, SoftmaxRequest, NormRequest,
                   RopeRequest, GatherRequest, ScatterRequest, UnaryRequest, BinaryRequest,
                   ReduceRequest, CastRequest, LaunchRequest>;

  explicit RecordingBackend(Config config = {}) : Backend("recording", std::move(config)) {
    init();
  }
  ~RecordingBackend() override { close(); }

  /// The virtuals that were called, in order: "do_gemm", "do_copy_htod".
  std::vector<std::string> calls;
  /// The requests of the ops among them.
  std::vector<Request> requests;

  std::uint64_t max_buffer_bytes = std::uint64_t{1} << 50;
  std::uint64_t memory_limit = std::uint64_t{1} << 55;
  std::uint64_t cached_bytes = 0;
  bool full = false;    ///< do_alloc throws OutOfMemory
  KernelInfo declared;  ///< by every kernel

  /// The only request there is.
  template <class T>
  const T& only() const {
    REQUIRE(requests.size() == 1);
    REQUIRE(std::holds_alternative<T>(requests[0]));
    return std::get<T>(requests[0]);
  }

  void forget() {
    requests.clear();
    calls.clear();
  }

  /// A buffer for this many float32.
  Buffer floats(Size n) { return alloc(n * 4); }

 private:
  void do_init() override { calls.emplace_back("do_init"); }
  void do_close() noexcept override { calls.emplace_back("do_close"); }
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override { calls.emplace_back("do_synchronize"); }

  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    if (full) throw OutOfMemory("alloc: the device is full", bytes);
    return std::make_shared<Allocation>(bytes);
  }
  std::uint64_t do_max_buffer_bytes() const override { return max_buffer_bytes; }
  std::uint64_t do_memory_limit() const override { return memory_limit; }
  std::uint64_t do_cached_bytes() const override { return cached_bytes; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override {
    calls.emplace_back("do_trim");
    cached_bytes = 0;
  }
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {
    calls.emplace_back("do_copy_htod");
  }
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {
    calls.emplace_back("do_copy_dtoh");
  }
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {
    calls.emplace_back("do_copy_dtod");
  }

  void record(const char* call, const auto& request) {
    calls.emplace_back(call);
    requests.emplace_back(request);
  }
  void do_gemm(const GemmRequest& r) override { record("do_gemm", r); }
  void do_matmul_vec(const MatmulVecRequest& r) override { record("do_matmul_vec", r); }
  void do_conv2d_forward(const Conv2dRequest& r) override { record("do_conv2d_forward", r); }
  void do_conv2d_backward_data(const Conv2dRequest& r) override {
    record("do_conv2d_backward_data", r);
  }
  void do_conv2d_backward_filter(const Conv2dRequest& r) override {
    record("do_conv2d_backward_filter", r);
  }
  void do_attention(const AttentionRequest& r) override { record("do_attention", r); }
  void do_attention_scores(const AttentionScoresRequest& r) override {
    record("do_attention_scores", r);
  }
  void do_weighted_sum(const WeightedSumRequest& r) override { record("do_weighted_sum", r); }
  void do_softmax(const SoftmaxRequest& r) override { record("do_softmax", r); }
  void do_rmsnorm(const NormRequest& r) override { record("do_rmsnorm", r); }
  void do_layer_norm(const NormRequest& r) override { record("do_layer_norm", r); }
  void do_rope(const RopeRequest& r) override { record("do_rope", r); }
  void do_gather(const GatherRequest& r) override { record("do_gather", r); }
  void do_scatter(const ScatterRequest& r) override { record("do_scatter", r); }
  void do_unary(const UnaryRequest& r) override { record("do_unary", r); }
  void do_binary(const BinaryRequest& r) override { record("do_binary", r); }
  void do_reduce(const ReduceRequest& r) override { record("do_reduce", r); }
  void do_cast(const CastRequest& r) override { record("do_cast", r); }
  std::shared_ptr<CompiledKernel> do_create_kernel(const KernelSource& source) override {
    calls.emplace_back("do_create_kernel");
    KernelInfo info = declared;
    info.name = source.name;
    return std::make_shared<CompiledKernel>(info, 1 << 20, 65535);
  }
  void do_launch_kernel(const LaunchRequest& r) override { record("do_launch_kernel", r); }
  void do_begin_profile() override { calls.emplace_back("do_begin_profile"); }
  Profile do_end_profile() override {
    calls.emplace_back("do_end_profile");
    return {{{"relu", 0, 5, {1, 1, 1}}}};
  }
};

/// Holds a call to being refused with these words, and to never reaching the implementation.
#define CHECK_REFUSED(backend, call, words)                                            \
  do {                                                                                 \
    (backend).forget();                                                                \
    CHECK_THROWS_WITH_AS(call, doctest::Contains(words), tilewright::InvalidArgument); \
    CHECK((backend).calls.empty());                                                    \
  } while (false)

/// Holds a call to being accepted without anything to do.
#define CHECK_NOTHING_TO_DO(backend, call) \
  do {                                     \
    (backend).forget();                    \
    CHECK_NOTHROW(call);                   \
    CHECK((backend).calls.empty());        \
  } while (false)

/// Largest Size, for arithmetic that overflows.
inline constexpr Size most = INT64_MAX;

}  // namespace tilewright
