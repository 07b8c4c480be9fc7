// What the processor can do at most: float32 multiply-adds on registers, counted as two operations
// each, on one thread and on as many as the CPU backend uses.

#include <benchmark/benchmark.h>

#include <cstddef>

#include "cpu/processor.hpp"
#include "cpu/thread_pool.hpp"

namespace {

using tilewright::cpu::Isa;

constexpr int repeats = 4096, accumulators = 12;

/// Independent chains of sum = sum * factor + term, enough of them to hide an operation's latency.
template <class Vector>
__attribute__((always_inline)) inline void multiply_add(float* data) {
  constexpr std::size_t lanes = sizeof(Vector) / sizeof(float);
  Vector sums[accumulators], factor, term;
  for (std::size_t i = 0; i < lanes; ++i) {
    factor[i] = data[i];
    term[i] = data[lanes + i];
  }
  // Each chain starts elsewhere, or the compiler would make them one.
#pragma GCC unroll 16
  for (int i = 0; i < accumulators; ++i) sums[i] = term + static_cast<float>(i);
  for (int i = 0; i < repeats; ++i) {
#pragma GCC unroll 16
    for (Vector& sum : sums) sum = sum * factor + term;
  }
  Vector total = term;
#pragma GCC unroll 16
  for (const Vector& sum : sums) total += sum;
  for (std::size_t i = 0; i < lanes; ++i) data[i + 2 * lanes] = total[i];
}

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

struct Peak {
  void (*run)(float* data);
  std::size_t lanes;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void run_avx512(float* data) { multiply_add<Floats16>(data); }
__attribute__((target("avx2,fma"))) void run_avx2(float* data) { multiply_add<Floats8>(data); }
#endif
void run_baseline(float* data) { multiply_add<Floats4>(data); }

Peak peak() {
#if defined(__x86_64__)
  switch (tilewright::cpu::usable_isa()) {
    case Isa::avx512:
      return {run_avx512, 16};
    case Isa::avx2:
      return {run_avx2, 8};
    case Isa::baseline:
      break;
  }
#endif
  return {run_baseline, 4};
}

void multiply_add_peak(benchmark::State& state) {
  const Peak found = peak();
  alignas(64) float data[48];
  for (float& x : data) x = 0.5f;
  for (auto _ : state) {
    found.run(data);
    benchmark::ClobberMemory();
  }
  state.counters["flops"] = benchmark::Counter(
      2.0 * repeats * accumulators * static_cast<double>(found.lanes * state.iterations()),
      benchmark::Counter::kIsRate);
}

BENCHMARK(multiply_add_peak)
    ->UseRealTime()
    ->Threads(1)
    ->Threads(static_cast<int>(tilewright::cpu::thread_count()));

}  // namespace
