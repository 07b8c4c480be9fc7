// What the WebGPU backend adds to wgpu-native: each thing once with raw calls, everything kept that
// can be kept, and once through the trait. On the first WebGPU device.

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/tilewright.hpp"
#include "webgpu_raw.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Small ops --------------------------------------------------------------------------------------

constexpr int batch = 1000;
constexpr int raw_submits_every = 100;

Backend& trait() {
  static const std::shared_ptr<Backend> backend = init_backend("webgpu:0");
  return *backend;
}

struct SmallRaw {
  WGPUBuffer x = raw().storage(4 * small), y = raw().storage(4 * small);
  RawKernel forward{raw(), small_op(), {x, y}}, back{raw(), small_op(), {y, x}};
};

SmallRaw& small_raw() {
  static auto* kept = new SmallRaw;
  return *kept;
}

struct SmallTrait {
  Buffer x = trait().alloc(4 * small), y = trait().alloc(4 * small);
  void forward() const { trait().unary(UnaryOp::relu, x, y, small); }
  void back() const { trait().unary(UnaryOp::relu, y, x, small); }
};

SmallTrait& small_trait() {
  static auto* kept = new SmallTrait;
  return *kept;
}

/// 1,000 calls, not waiting for the GPU, which is idle before each time.
template <class Enqueue, class Wait>
void time_enqueueing(benchmark::State& state, const Enqueue& enqueue, const Wait& wait) {
  for (auto _ : state) {
    const auto start = Clock::now();
    enqueue();
    state.SetIterationTime(seconds_since(start));
    wait();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

/// Pipeline and bind group set once in a pass, immediates and a dispatch for each op.
void raw_enqueue_1000(benchmark::State& state) {
  RawKernel& kernel = small_raw().forward;
  time_enqueueing(
      state,
      [&] {
        for (int i = 0; i < batch; ++i) {
          if (i % raw_submits_every == 0) kernel.open();
          kernel.enqueue();
          if (i % raw_submits_every == raw_submits_every - 1) raw().submit(kernel.close());
        }
      },
      [] { raw().wait(); });
}
BENCHMARK(raw_enqueue_1000)->UseManualTime();

void trait_enqueue_1000(benchmark::State& state) {
  const SmallTrait& op = small_trait();
  time_enqueueing(
      state,
      [&] {
        for (int i = 0; i < batch; ++i) op.forward();
      },
      [] { trait().synchronize(); });
}
BENCHMARK(trait_enqueue_1000)->UseManualTime();

/// Two kept bind groups in turn.
void raw_enqueue_1000_in_turn(benchmark::State& state) {
  SmallRaw& op = small_raw();
  time_enqueueing(
      state,
      [&] {
        for (int i = 0; i < batch; ++i) {
          if (i % raw_submits_every == 0) op.forward.open();
          (i % 2 == 0 ? op.forward : op.back).enqueue_in(op.forward);
          if (i % raw_submits_every == raw_submits_every - 1) raw().submit(op.forward.close());
        }
      },
      [] { raw().wait(); });
}
BENCHMARK(raw_enqueue_1000_in_turn)->UseManualTime();

void trait_enqueue_1000_in_turn(benchmark::State& state) {
  const SmallTrait& op = small_trait();
  time_enqueueing(
      state,
      [&] {
        for (int i = 0; i < batch; i += 2) op.forward(), op.back();
      },
      [] { trait().synchronize(); });
}
BENCHMARK(trait_enqueue_1000_in_turn)->UseManualTime();

void raw_submit_and_wait(benchmark::State& state) {
  RawKernel& kernel = small_raw().forward;
  const auto once = [&] {
    kernel.open();
    kernel.enqueue();
    raw().submit(kernel.close());
    raw().wait();
  };
  once();
  for (auto _ : state) once();
}
BENCHMARK(raw_submit_and_wait)->UseRealTime();

void trait_submit_and_wait(benchmark::State& state) {
  const auto once = [] {
    small_trait().forward();
    trait().synchronize();
  };
  once();
  for (auto _ : state) once();
}
BENCHMARK(trait_submit_and_wait)->UseRealTime();

void raw_1000_and_read(benchmark::State& state) {
  SmallRaw& op = small_raw();
  RawStaging staging(raw(), WGPUMapMode_Read);
  std::vector<std::byte> host(4 * small);
  for (auto _ : state) {
    for (int i = 0; i < batch; ++i) {
      if (i % raw_submits_every == 0) op.forward.open();
      op.forward.enqueue();
      if (i == batch - 1) {
        staging.read(op.forward.close(), op.y, 0, 4 * small);
      } else if (i % raw_submits_every == raw_submits_every - 1) {
        raw().submit(op.forward.close());
      }
    }
    staging.finish_read(host);
  }
}
BENCHMARK(raw_1000_and_read)->UseRealTime();

void trait_1000_and_read(benchmark::State& state) {
  std::vector<std::byte> host(4 * small);
  for (auto _ : state) {
    for (int i = 0; i < batch; ++i) small_trait().forward();
    trait().copy_dtoh(host, small_trait().y);
  }
}
BENCHMARK(trait_1000_and_read)->UseRealTime();

// 256 MB -----------------------------------------------------------------------------------------

std::vector<std::byte>& host_memory() {
  static std::vector<std::byte> bytes(static_cast<std::size_t>(large_bytes), std::byte{1});
  return bytes;
}

void raw_upload_staged(benchmark::State& state) {
  RawStaging staging(raw(), WGPUMapMode_Write);
  WGPUBuffer buffer = raw().storage(large_bytes);
  for (auto _ : state) staging.upload(buffer, host_memory());
  wgpu_native().BufferRelease(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(raw_upload_staged)->UseRealTime()->Unit(benchmark::kMillisecond);

void raw_upload_write_buffer(benchmark::State& state) {
  WGPUBuffer buffer = raw().storage(large_bytes);
  for (auto _ : state) {
    wgpu_native().QueueWriteBuffer(raw().queue, buffer, 0, host_memory().data(),
                                   host_memory().size());
    raw().submit(wgpu_native().DeviceCreateCommandEncoder(raw().device, nullptr));
    raw().wait();
  }
  wgpu_native().BufferRelease(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(raw_upload_write_buffer)->UseRealTime()->Unit(benchmark::kMillisecond);

void trait_upload(benchmark::State& state) {
  const Buffer buffer = trait().alloc(large_bytes);
  for (auto _ : state) {
    trait().copy_htod(buffer, host_memory());
    trait().synchronize();
  }
  trait().free(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(trait_upload)->UseRealTime()->Unit(benchmark::kMillisecond);

void raw_download(benchmark::State& state) {
  RawStaging staging(raw(), WGPUMapMode_Read);
  WGPUBuffer buffer = raw().storage(large_bytes);
  for (auto _ : state) staging.download(host_memory(), buffer, large_bytes);
  wgpu_native().BufferRelease(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(raw_download)->UseRealTime()->Unit(benchmark::kMillisecond);

void trait_download(benchmark::State& state) {
  const Buffer buffer = trait().alloc(large_bytes);
  for (auto _ : state) trait().copy_dtoh(host_memory(), buffer);
  trait().free(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(trait_download)->UseRealTime()->Unit(benchmark::kMillisecond);

// Cold start, in a process of its own ------------------------------------------------------------

double cold_raw() {
  const Recorded gemm = record([](Backend& be) {
    product(be, be.alloc(matrix_bytes), be.alloc(matrix_bytes), be.alloc(matrix_bytes));
  });
  std::vector<std::byte> host(matrix_bytes);
  const auto start = Clock::now();
  RawDevice gpu;
  WGPUBuffer a = gpu.storage(matrix_bytes), b = gpu.storage(matrix_bytes);
  WGPUBuffer c = gpu.storage(matrix_bytes);
  RawKernel kernel(gpu, gemm, {a, b, c});
  for (WGPUBuffer input : {a, b}) {
    wgpu_native().QueueWriteBuffer(gpu.queue, input, 0, host.data(), host.size());
  }
  kernel.open();
  kernel.enqueue();
  RawStaging staging(gpu, WGPUMapMode_Read);
  staging.read(kernel.close(), c, 0, matrix_bytes);
  staging.finish_read(host);
  return seconds_since(start);
}

double cold_trait() {
  std::vector<std::byte> host(matrix_bytes);
  const auto start = Clock::now();
  const std::shared_ptr<Backend> be = init_backend("webgpu:0");
  const Buffer a = be->alloc(matrix_bytes), b = be->alloc(matrix_bytes);
  const Buffer c = be->alloc(matrix_bytes);
  for (Buffer input : {a, b}) be->copy_htod(input, host);
  product(*be, a, b, c);
  be->copy_dtoh(host, c);
  return seconds_since(start);
}

std::string own_path;

void cold_start(benchmark::State& state, const char* which) {
  for (auto _ : state) {
    double seconds = 0;
    std::FILE* child = popen(("'" + own_path + "' --cold=" + which).c_str(), "r");
    const bool answered = child != nullptr && std::fscanf(child, "%lf", &seconds) == 1;
    if (child != nullptr) pclose(child);
    if (!answered) return state.SkipWithError("the process of its own gave no time");
    state.SetIterationTime(seconds);
  }
}
BENCHMARK_CAPTURE(cold_start, raw, "raw")
    ->UseManualTime()
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cold_start, trait, "trait")
    ->UseManualTime()
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  using namespace tilewright;
  own_path = argv[0];
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--cold=raw" || first == "--cold=trait") {
    std::printf("%.9f\n", first == "--cold=raw" ? cold_raw() : cold_trait());
    std::fflush(stdout);
    std::_Exit(0);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
