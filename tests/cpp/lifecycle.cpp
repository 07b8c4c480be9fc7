#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

#include "recording_backend.hpp"
#include "tilewright/registry.hpp"

namespace tilewright {
namespace {

/// Counts who is inside its ops, and holds that nobody is once it has closed.
class WatchedBackend final : public Backend {
 public:
  WatchedBackend() : Backend("watched", {}) {}
  ~WatchedBackend() override { close(); }

  std::atomic<int> opened = 0, closed = 0, inside = 0, inside_at_close = 0;
  std::atomic<int> live = 0, live_at_close = 0;
  bool fails_to_open = false;

 private:
  class Watched final : public Allocation {
   public:
    Watched(std::uint64_t bytes, std::atomic<int>& live) : Allocation(bytes), live_(live) {
      ++live_;
    }
    ~Watched() override { --live_; }

   private:
    std::atomic<int>& live_;
  };

  void do_init() override {
    if (fails_to_open) throw BackendUnavailable("watched: it is broken");
    ++opened;
  }
  void do_close() noexcept override {
    ++closed;
    inside_at_close += inside;
    live_at_close += live;
  }
  DeviceInfo do_device() const override { return {}; }
  Capabilities do_capabilities() const override { return {}; }
  PerformanceHints do_performance_hints() const override { return {}; }
  void do_synchronize() override {}
  std::shared_ptr<Allocation> do_alloc(std::uint64_t bytes) override {
    return std::make_shared<Watched>(bytes, live);
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
  void do_unary(const UnaryRequest&) override {
    ++inside;
    std::this_thread::yield();
    --inside;
  }
};

TEST_CASE("lifecycle: init and close are idempotent") {
  WatchedBackend be;
  CHECK_FALSE(be.is_initialized());
  be.close();
  CHECK(be.closed == 0);
  be.init();
  be.init();
  CHECK(be.opened == 1);
  CHECK(be.is_initialized());
  be.close();
  be.close();
  CHECK(be.closed == 1);
  CHECK_FALSE(be.is_initialized());
  be.init();
  CHECK(be.opened == 2);
}

TEST_CASE("lifecycle: an init that fails leaves the backend closed") {
  WatchedBackend be;
  be.fails_to_open = true;
  CHECK_THROWS_AS(be.init(), BackendUnavailable);
  CHECK_FALSE(be.is_initialized());
  be.fails_to_open = false;
  CHECK_NOTHROW(be.init());
}

TEST_CASE("lifecycle: what the device can do is asked of a closed backend, which stays closed") {
  WatchedBackend be;
  be.capabilities();
  be.performance_hints();
  CHECK(be.opened == 2);
  CHECK(be.closed == 2);
  CHECK_FALSE(be.is_initialized());
  be.fails_to_open = true;
  CHECK_THROWS_WITH_AS(be.capabilities(), "watched: it is broken", BackendUnavailable);
  CHECK_THROWS_WITH_AS(be.performance_hints(), "watched: it is broken", BackendUnavailable);
  be.fails_to_open = false;
  be.init();
  be.capabilities();
  be.performance_hints();
  CHECK(be.opened == 3);
  CHECK(be.is_initialized());
}

TEST_CASE("lifecycle: close frees every buffer before the device") {
  WatchedBackend be;
  be.init();
  for (int i = 0; i < 10; ++i) be.alloc(64);
  CHECK(be.live == 10);
  be.close();
  CHECK(be.live_at_close == 0);
  be.init();
  CHECK(be.memory_stats().active_bytes == 0);
  CHECK(be.memory_stats().allocations == 0);
  CHECK(be.memory_stats().peak_bytes == 0);
}

TEST_CASE("lifecycle: handles from before close stay invalid") {
  WatchedBackend be;
  be.init();
  const Buffer old = be.alloc(64);
  be.close();
  be.release(old);
  be.init();
  const Buffer fresh = be.alloc(64);
  CHECK(old != fresh);
  CHECK_THROWS_AS(be.buffer_bytes(old), InvalidArgument);
  CHECK_THROWS_AS(be.unary(UnaryOp::relu, fresh, old, 4), InvalidArgument);
  be.release(old);
  CHECK(be.buffer_bytes(fresh) == 64);
}

void check_closed(Backend& be) {
  constexpr auto none = Transpose::none;
  constexpr Shape4 one{1, 1, 1, 1};
  constexpr std::array<Size, 1> shape{1};
  constexpr auto x = static_cast<Buffer>(1), y = static_cast<Buffer>(2), z = static_cast<Buffer>(3);
  std::array<std::byte, 4> host{};
  const auto refused = [](const char* op, auto call) {
    CAPTURE(op);
    const std::string message = std::string(op) + ": the backend is not initialised";
    CHECK_THROWS_WITH_AS(call(), doctest::Contains(message.c_str()), NotInitialized);
  };
  refused("device", [&] { be.device(); });
  refused("synchronize", [&] { be.synchronize(); });
  refused("alloc", [&] { be.alloc(4); });
  refused("free", [&] { be.free(x); });
  refused("copy_htod", [&] { be.copy_htod(x, host); });
  refused("copy_dtoh", [&] { be.copy_dtoh(host, x); });
  refused("copy_dtod", [&] { be.copy_dtod(x, y, 4); });
  refused("buffer_bytes", [&] { be.buffer_bytes(x); });
  refused("memory_stats", [&] { be.memory_stats(); });
  refused("trim", [&] { be.trim(); });
  refused("gemm", [&] { be.gemm(none, none, 1, 1, 1, 1, x, 1, y, 1, 0, z, 1); });
  refused("batched_gemm",
          [&] { be.batched_gemm(none, none, 1, 1, 1, 1, x, 1, 1, y, 1, 1, 0, z, 1, 1, 1); });
  refused("gemm_f16", [&] { be.gemm_f16(none, none, 1, 1, 1, 1, x, 1, y, 1, 0, z, 1); });
  refused("gemm_mixed_precision", [&] {
    be.gemm_mixed_precision(Precision::float16, none, none, 1, 1, 1, 1, x, 1, y, 1, 0, z, 1);
  });
  refused("matmul_vec", [&] { be.matmul_vec(x, 1, 1, y, z); });
  refused("conv2d_forward", [&] { be.conv2d_forward(x, one, y, one, z, one, {1, 1}, {0, 0}); });
  refused("conv2d_backward_data",
          [&] { be.conv2d_backward_data(x, one, y, one, z, one, {1, 1}, {0, 0}); });
  refused("conv2d_backward_filter",
          [&] { be.conv2d_backward_filter(x, one, y, one, z, one, {1, 1}, {0, 0}); });
  refused("attention", [&] { be.attention(x, x, x, y, 1, 1, 1, 1, 1, 1, false); });
  refused("attention_scores", [&] { be.attention_scores(x, y, z, 1, 1, 1); });
  refused("weighted_sum", [&] { be.weighted_sum(x, y, z, 1, 1); });
  refused("softmax", [&] { be.softmax(x, y, shape, 0); });
  refused("rmsnorm", [&] { be.rmsnorm(x, y, z, 1, 1, 0); });
  refused("layer_norm", [&] { be.layer_norm(x, y, y, z, 1, 1, 0); });
  refused("silu", [&] { be.silu(x, y, 1); });
  refused("gelu", [&] { be.gelu(x, y, 1); });
  refused("rope", [&] { be.rope(x, y, y, z, 1, 1, 1, 2, 1); });
  refused("gather", [&] { be.gather(x, y, z, 1, 1, 1); });
  refused("scatter", [&] { be.scatter(x, y, z, 1, 1, 1); });
  refused("unary", [&] { be.unary(UnaryOp::relu, x, y, 1); });
  refused("binary", [&] { be.binary(BinaryOp::add, x, y, z, 1); });
  refused("binary_broadcast",
          [&] { be.binary_broadcast(BinaryOp::add, x, shape, y, shape, z, shape); });
  refused("reduce", [&] { be.reduce(ReduceOp::sum, x, y, shape, 0); });
  refused("sort", [&] { be.sort(x, y, 1, 1); });
  refused("argsort", [&] { be.argsort(x, y, 1, 1); });
  refused("topk", [&] { be.topk(x, y, z, 1, 1, 1); });
  refused("cast", [&] { be.cast(x, DType::float32, y, DType::float16, 1); });
  constexpr auto kernel = static_cast<Kernel>(1);
  refused("create_kernel", [&] { be.create_kernel({.code = "code"}); });
  refused("free_kernel", [&] { be.free_kernel(kernel); });
  refused("kernel_info", [&] { be.kernel_info(kernel); });
  refused("launch_kernel", [&] { be.launch_kernel(kernel, {}, {}, {1, 1, 1}); });
  refused("begin_profile", [&] { be.begin_profile(); });
  refused("end_profile", [&] { be.end_profile(); });
}

TEST_CASE("lifecycle: every call of a closed backend says that it is not initialised") {
  for (const std::string& name : backend_names()) {
    CAPTURE(name);
    check_closed(*make_backend(name));
  }
  const auto be = init_backend("cpu");
  be->close();
  check_closed(*be);
}

TEST_CASE("lifecycle: close waits for the calls that run, in all threads") {
  WatchedBackend be;
  be.init();
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        try {
          const Buffer x = be.alloc(64);
          be.unary(UnaryOp::relu, x, x, 16);
          be.free(x);
          be.release(be.alloc(64));
        } catch (const NotInitialized&) {
          std::this_thread::yield();
        } catch (const InvalidArgument&) {
          // The handle went with a close in between.
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    be.init();
    std::this_thread::yield();
    be.close();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(be.opened == 200);
  CHECK(be.closed == 200);
  CHECK(be.inside_at_close == 0);
  CHECK(be.live_at_close == 0);
  CHECK(be.live == 0);
}

TEST_CASE("lifecycle: init and close from many threads") {
  WatchedBackend be;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        be.init();
        be.close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(be.is_initialized());
  CHECK(be.opened == be.closed);
  CHECK(be.opened > 0);
}

TEST_CASE("lifecycle: a buffer freed by another thread outlives the op that uses it") {
  const auto be = init_backend("cpu");
  constexpr Size n = 1 << 16;
  for (int i = 0; i < 50; ++i) {
    const Buffer x = be->alloc(4 * n), y = be->alloc(4 * n);
    std::thread other([&] { be->free(x); });
    try {
      be->unary(UnaryOp::neg, x, y, n);
    } catch (const InvalidArgument&) {
      // Freed before the op was checked.
    }
    other.join();
    be->free(y);
  }
  CHECK(be->memory_stats().active_bytes == 0);
}

}  // namespace
}  // namespace tilewright
