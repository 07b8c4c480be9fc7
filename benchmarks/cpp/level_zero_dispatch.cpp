// What the Level Zero backend adds to the driver: a small op with raw calls, everything kept that
// can be kept, and through the trait. On the first Level Zero device.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "level_zero/adapters.hpp"
#include "level_zero/api.hpp"
#include "level_zero/spirv_interface.hpp"
#include "recorder.hpp"
#include "tilewright/tilewright.hpp"

namespace tilewright::level_zero {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int batch = 1000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void must(ze_result_t result) {
  if (result == ZE_RESULT_SUCCESS) return;
  std::fprintf(stderr, "a Level Zero call gave 0x%x\n", static_cast<unsigned>(result));
  std::exit(1);
}

Recorded small_op() {
  return record(
      gpu::KernelLanguage::spirv,
      [](const gpu::KernelDescription& kernel) { return interface_of(kernel).info; },
      [](Backend& be) {
        be.unary(UnaryOp::relu, be.alloc(4 * small), be.alloc(4 * small), small);
      });
}

/// The command list, an event, two buffers and the kernel. The list keeps no order by itself, as
/// behind a loader that does not know lists which do: a barrier follows each launch.
class Raw {
 public:
  Raw() : adapter_(adapters()[0]) {
    const ze_context_desc_t context;
    must(api().ContextCreate(adapter_.driver, &context, &context_));
    ze_command_queue_desc_t queue;
    queue.ordinal = adapter_.compute_group;
    must(api().CommandListCreateImmediate(context_, adapter_.handle, &queue, &list_));
    ze_event_pool_desc_t pool_descriptor;
    pool_descriptor.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool_descriptor.count = 1;
    ze_event_pool_handle_t pool = nullptr;
    ze_device_handle_t device = adapter_.handle;
    must(api().EventPoolCreate(context_, &pool_descriptor, 1, &device, &pool));
    ze_event_desc_t event;
    event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    must(api().EventCreate(pool, &event, &event_));
    for (void*& buffer : buffers_) {
      const ze_device_mem_alloc_desc_t memory;
      must(api().MemAllocDevice(context_, &memory, 4 * small, 64, adapter_.handle, &buffer));
    }
    build();
  }

  /// As the trait does: those arguments are set that change.
  void launch(bool swapped) {
    if (swapped != swapped_) set_buffers(swapped);
    const ze_group_count_t groups{op_.grid[0], op_.grid[1], op_.grid[2]};
    must(api().CommandListAppendLaunchKernel(list_, kernel_, &groups, nullptr, 0, nullptr));
    must(api().CommandListAppendBarrier(list_, nullptr, 0, nullptr));
  }

  void wait() {
    must(api().CommandListAppendBarrier(list_, event_, 0, nullptr));
    wait_for_event();
  }

  /// The least there is: the kernel itself signals the event.
  void launch_and_wait() {
    const ze_group_count_t groups{op_.grid[0], op_.grid[1], op_.grid[2]};
    must(api().CommandListAppendLaunchKernel(list_, kernel_, &groups, event_, 0, nullptr));
    wait_for_event();
  }

 private:
  void build() {
    ze_module_desc_t descriptor;
    descriptor.inputSize = op_.kernel.code.text.size();
    descriptor.pInputModule = reinterpret_cast<const std::uint8_t*>(op_.kernel.code.text.data());
    descriptor.pBuildFlags = "-cl-fp32-correctly-rounded-divide-sqrt";
    std::vector<std::uint32_t> ids;
    std::vector<const void*> values;
    for (const gpu::SpecializationConstant& constant : op_.kernel.constants) {
      ids.push_back(constant.id);
      values.push_back(&constant.value);
    }
    const ze_module_constants_t constants{static_cast<std::uint32_t>(ids.size()), ids.data(),
                                          values.data()};
    if (!ids.empty()) descriptor.pConstants = &constants;
    ze_module_handle_t module = nullptr;
    must(api().ModuleCreate(context_, adapter_.handle, &descriptor, &module, nullptr));
    ze_kernel_desc_t kernel;
    kernel.pKernelName = op_.kernel.entry.c_str();
    must(api().KernelCreate(module, &kernel, &kernel_));
    const auto& size = op_.info.workgroup_size;
    must(api().KernelSetGroupSize(kernel_, size[0], size[1], size[2]));
    set_buffers(false);
    const auto last = static_cast<std::uint32_t>(op_.info.bindings.size());
    must(api().KernelSetArgumentValue(kernel_, last, op_.params.size(), op_.params.data()));
  }

  void set_buffers(bool swapped) {
    must(api().KernelSetArgumentValue(kernel_, 0, sizeof(void*), &buffers_[swapped ? 1 : 0]));
    must(api().KernelSetArgumentValue(kernel_, 1, sizeof(void*), &buffers_[swapped ? 0 : 1]));
    swapped_ = swapped;
  }

  void wait_for_event() {
    must(api().EventHostSynchronize(event_, ~std::uint64_t{0}));
    must(api().EventHostReset(event_));
  }

  const Adapter& adapter_;
  const Recorded op_ = small_op();
  ze_context_handle_t context_ = nullptr;
  ze_command_list_handle_t list_ = nullptr;
  ze_event_handle_t event_ = nullptr;
  ze_kernel_handle_t kernel_ = nullptr;
  void* buffers_[2] = {};
  bool swapped_ = false;
};

Raw& raw() {
  static auto* kept = new Raw;
  return *kept;
}

struct Trait {
  std::shared_ptr<Backend> backend = init_backend("level-zero:0");
  Buffer x = backend->alloc(4 * small), y = backend->alloc(4 * small);
  void launch(bool swapped) const {
    backend->unary(UnaryOp::relu, swapped ? y : x, swapped ? x : y, small);
  }
  void wait() const { backend->synchronize(); }
};

Trait& trait() {
  static auto* kept = new Trait;
  return *kept;
}

/// 1,000 calls, not waiting for the device, which is idle before each time.
template <class Side>
void enqueue_1000(benchmark::State& state, Side& side, bool in_turn) {
  side.launch(false);
  side.wait();
  for (auto _ : state) {
    const auto start = Clock::now();
    for (int i = 0; i < batch; ++i) side.launch(in_turn && i % 2 == 1);
    state.SetIterationTime(seconds_since(start));
    side.wait();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

void raw_enqueue_1000(benchmark::State& state) { enqueue_1000(state, raw(), false); }
BENCHMARK(raw_enqueue_1000)->UseManualTime();
void trait_enqueue_1000(benchmark::State& state) { enqueue_1000(state, trait(), false); }
BENCHMARK(trait_enqueue_1000)->UseManualTime();
void raw_enqueue_1000_in_turn(benchmark::State& state) { enqueue_1000(state, raw(), true); }
BENCHMARK(raw_enqueue_1000_in_turn)->UseManualTime();
void trait_enqueue_1000_in_turn(benchmark::State& state) { enqueue_1000(state, trait(), true); }
BENCHMARK(trait_enqueue_1000_in_turn)->UseManualTime();

void raw_launch_and_wait(benchmark::State& state) {
  for (auto _ : state) raw().launch_and_wait();
}
BENCHMARK(raw_launch_and_wait)->UseRealTime();

void raw_launch_barrier_and_wait(benchmark::State& state) {
  for (auto _ : state) {
    raw().launch(false);
    raw().wait();
  }
}
BENCHMARK(raw_launch_barrier_and_wait)->UseRealTime();

void trait_launch_and_wait(benchmark::State& state) {
  for (auto _ : state) {
    trait().launch(false);
    trait().wait();
  }
}
BENCHMARK(trait_launch_and_wait)->UseRealTime();

}  // namespace
}  // namespace tilewright::level_zero

int main(int argc, char** argv) {
  try {
    tilewright::level_zero::adapters();
  } catch (const tilewright::Error& error) {
    std::printf("left out: %s\n", error.what());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
