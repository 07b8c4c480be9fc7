// What a call costs besides its work: the trait alone (on a backend that does nothing), the CPU
// backend on sizes so small that nothing else is left, allocation, and copies.

#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "core/requests.hpp"
#include "tilewright/tilewright.hpp"

namespace tilewright {
namespace {

/// Takes every request and does nothing with it.
class IdleBackend final : public Backend {
 public:
  IdleBackend() : Backend("idle", {}) { init(); }
  ~IdleBackend() override { close(); }

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
  std::uint64_t do_max_buffer_bytes() const override { return std::uint64_t{1} << 40; }
  std::uint64_t do_memory_limit() const override { return std::uint64_t{1} << 40; }
  std::uint64_t do_cached_bytes() const override { return 0; }
  std::uint64_t do_cache_limit() const override { return 0; }
  void do_trim() override {}
  void do_copy_htod(Allocation&, std::span<const std::byte>, std::uint64_t) override {}
  void do_copy_dtoh(std::span<std::byte>, Allocation&, std::uint64_t) override {}
  void do_copy_dtod(Allocation&, Allocation&, std::uint64_t, std::uint64_t,
                    std::uint64_t) override {}
  void do_unary(const UnaryRequest& r) override { benchmark::DoNotOptimize(&r); }
  void do_binary(const BinaryRequest& r) override { benchmark::DoNotOptimize(&r); }
  void do_gemm(const GemmRequest& r) override { benchmark::DoNotOptimize(&r); }
};

IdleBackend& idle() {
  static IdleBackend backend;
  return backend;
}

Backend& cpu() {
  static const std::shared_ptr<Backend> backend = init_backend("cpu");
  return *backend;
}

/// Buffers for one benchmark.
class Buffers {
 public:
  explicit Buffers(Backend& be) : be_(be) {}
  ~Buffers() {
    for (Buffer buffer : all_) be_.release(buffer);
  }
  Buffer make(Size bytes) {
    all_.push_back(be_.alloc(bytes));
    const std::vector<std::byte> zeros(static_cast<std::size_t>(bytes));
    be_.copy_htod(all_.back(), zeros);
    return all_.back();
  }

 private:
  Backend& be_;
  std::vector<Buffer> all_;
};

// The trait alone -------------------------------------------------------------------------------

void trait_unary(benchmark::State& state) {
  Buffers buffers(idle());
  const Buffer x = buffers.make(64), y = buffers.make(64);
  for (auto _ : state) idle().unary(UnaryOp::relu, x, y, 16);
}
BENCHMARK(trait_unary)->ThreadRange(1, 2);

void trait_binary(benchmark::State& state) {
  Buffers buffers(idle());
  const Buffer a = buffers.make(64), b = buffers.make(64), y = buffers.make(64);
  for (auto _ : state) idle().binary(BinaryOp::add, a, b, y, 16);
}
BENCHMARK(trait_binary);

void trait_binary_broadcast(benchmark::State& state) {
  Buffers buffers(idle());
  const Buffer a = buffers.make(64), b = buffers.make(16), y = buffers.make(64);
  constexpr std::array<Size, 2> shape{4, 4}, a_strides{4, 1}, b_strides{0, 1};
  for (auto _ : state) {
    idle().binary_broadcast(BinaryOp::add, a, a_strides, b, b_strides, y, shape);
  }
}
BENCHMARK(trait_binary_broadcast);

void trait_gemm(benchmark::State& state) {
  Buffers buffers(idle());
  const Buffer a = buffers.make(64), b = buffers.make(64), c = buffers.make(64);
  for (auto _ : state) {
    idle().gemm(Transpose::none, Transpose::none, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
  }
}
BENCHMARK(trait_gemm);

/// One handle looked up among many.
void trait_buffer_bytes(benchmark::State& state) {
  Buffers buffers(idle());
  for (Size i = 1; i < state.range(0); ++i) buffers.make(4);
  const Buffer x = buffers.make(4);
  for (auto _ : state) benchmark::DoNotOptimize(idle().buffer_bytes(x));
}
BENCHMARK(trait_buffer_bytes)->Arg(1)->Arg(100'000);

void trait_alloc_free(benchmark::State& state) {
  for (auto _ : state) idle().free(idle().alloc(64));
}
BENCHMARK(trait_alloc_free);

// The CPU backend -------------------------------------------------------------------------------

void cpu_unary(benchmark::State& state) {
  Buffers buffers(cpu());
  const Buffer x = buffers.make(4 * state.range(0)), y = buffers.make(4 * state.range(0));
  for (auto _ : state) cpu().unary(UnaryOp::relu, x, y, state.range(0));
}
BENCHMARK(cpu_unary)->Arg(16)->Arg(1024);

void cpu_alloc_free(benchmark::State& state) {
  for (auto _ : state) cpu().free(cpu().alloc(state.range(0)));
}
BENCHMARK(cpu_alloc_free)->Arg(64)->Arg(1 << 20)->Arg(64 << 20);

void cpu_copy_htod(benchmark::State& state) {
  Buffers buffers(cpu());
  const Buffer x = buffers.make(state.range(0));
  const std::vector<std::byte> host(static_cast<std::size_t>(state.range(0)), std::byte{1});
  for (auto _ : state) cpu().copy_htod(x, host);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(cpu_copy_htod)->Arg(64)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();

void cpu_copy_dtoh(benchmark::State& state) {
  Buffers buffers(cpu());
  const Buffer x = buffers.make(state.range(0));
  std::vector<std::byte> host(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) cpu().copy_dtoh(host, x);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(cpu_copy_dtoh)->Arg(64)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();

void cpu_copy_dtod(benchmark::State& state) {
  Buffers buffers(cpu());
  const Buffer x = buffers.make(state.range(0)), y = buffers.make(state.range(0));
  for (auto _ : state) cpu().copy_dtod(y, x, state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(cpu_copy_dtod)->Arg(64)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();

}  // namespace
}  // namespace tilewright
