// What the WebGPU backend adds to wgpu-native: each thing once with raw calls, everything kept that
// can be kept, and once through the trait. On the first WebGPU device.

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/dynamic_library.hpp"
#include "gpu/backend.hpp"
#include "tilewright/tilewright.hpp"
#include "webgpu/api.hpp"
#include "webgpu/wgsl_interface.hpp"
#include "webgpu/wgsl_text.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;
using webgpu::api;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What the backend launches ----------------------------------------------------------------------

/// One launch, as the backend asks its device for it.
struct Recorded {
  gpu::KernelDescription kernel;
  KernelInfo info;
  std::vector<std::byte> params;
  std::array<std::uint32_t, 3> grid;
};

/// Does nothing and remembers the last launch.
class Recorder final : public gpu::Device {
 public:
  explicit Recorder(Recorded& recorded) : recorded_(recorded) {
    limits_.max_buffer_bytes = limits_.max_binding_bytes = std::uint64_t{1} << 30;
    limits_.local_memory_bytes = 48 << 10;
  }
  DeviceInfo info() const override { return {}; }
  const gpu::DeviceLimits& limits() const override { return limits_; }
  std::uint32_t subgroup_size() override { return 32; }
  std::unique_ptr<gpu::DeviceBuffer> create_buffer(std::uint64_t bytes) override {
    return std::make_unique<gpu::DeviceBuffer>(bytes);
  }
  std::unique_ptr<gpu::Pipeline> create_pipeline(const gpu::KernelDescription& kernel) override {
    recorded_.kernel = kernel;
    recorded_.info = webgpu::interface_of(kernel, webgpu::tokens_of(kernel.code.text)).info;
    return std::make_unique<gpu::Pipeline>(recorded_.info);
  }
  void launch(const gpu::Launch& launch) override {
    recorded_.params.assign(launch.params.begin(), launch.params.end());
    recorded_.grid = launch.grid;
  }
  void upload(gpu::DeviceBuffer&, std::uint64_t, std::span<const std::byte>) override {}
  void download(std::span<std::byte>, gpu::DeviceBuffer&, std::uint64_t) override {}
  void copy(gpu::DeviceBuffer&, std::uint64_t, gpu::DeviceBuffer&, std::uint64_t,
            std::uint64_t) override {}
  void wait() override {}
  void begin_timing() override {}
  std::vector<LaunchRecord> end_timing() override { return {}; }

 private:
  Recorded& recorded_;
  gpu::DeviceLimits limits_;
};

template <class Op>
Recorded record(const Op& op) {
  Recorded recorded;
  gpu::GpuBackend backend("webgpu", {},
                          [&](const Config&) { return std::make_shared<Recorder>(recorded); });
  backend.init();
  op(backend);
  return recorded;
}

constexpr Size small = 1024;  // elements of the small op
constexpr Size side = 256;    // of the first product
constexpr Size matrix_bytes = 4 * side * side;
constexpr Size large_bytes = 256 << 20;

Recorded small_op() {
  return record([](Backend& be) {
    be.unary(UnaryOp::relu, be.alloc(4 * small), be.alloc(4 * small), small);
  });
}

void product(Backend& be, Buffer a, Buffer b, Buffer c) {
  be.gemm(Transpose::none, Transpose::none, side, side, side, 1, a, side, b, side, 0, c, side);
}

// Raw calls --------------------------------------------------------------------------------------

[[noreturn]] void stop(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void*, void*) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(message.length), message.data);
  std::exit(1);
}

/// wgpu-native's own wait, which the backend does without: it ends the process on a lost device.
void poll(WGPUDevice device, WGPUSubmissionIndex until) {
  static const auto call =
      DynamicLibrary(api().path).function<decltype(::wgpuDevicePoll)>("wgpuDevicePoll");
  call(device, 1, &until);
}

/// Instance, adapter, device and queue, with the adapter's limits.
struct RawDevice {
  WGPUDevice device = nullptr;
  WGPUQueue queue = nullptr;
  WGPUSubmissionIndex submitted = 0;

  RawDevice() {
    WGPUInstanceExtras extras{};
    extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
    extras.backends = WGPUInstanceBackend_Primary;
    WGPUInstanceDescriptor instance{};
    instance.nextInChain = &extras.chain;
    WGPUInstanceEnumerateAdapterOptions options{};
    options.backends = WGPUInstanceBackend_Primary;
    WGPUInstance opened = api().CreateInstance(&instance);
    std::vector<WGPUAdapter> adapters(api().InstanceEnumerateAdapters(opened, &options, nullptr));
    if (adapters.empty()) throw std::runtime_error("no WebGPU device was found");
    api().InstanceEnumerateAdapters(opened, &options, adapters.data());
    WGPULimits limits{};
    api().AdapterGetLimits(adapters[0], &limits);
    const std::array<WGPUFeatureName, 2> features{
        static_cast<WGPUFeatureName>(WGPUNativeFeature_Immediates), WGPUFeatureName_ShaderF16};
    WGPUDeviceDescriptor descriptor{};
    descriptor.requiredLimits = &limits;
    descriptor.requiredFeatures = features.data();
    descriptor.requiredFeatureCount = features.size();
    descriptor.uncapturedErrorCallbackInfo.callback = stop;
    WGPURequestDeviceCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowSpontaneous;
    callback.userdata1 = &device;
    callback.callback = [](WGPURequestDeviceStatus, WGPUDevice got, WGPUStringView, void* out,
                           void*) { *static_cast<WGPUDevice*>(out) = got; };
    api().AdapterRequestDevice(adapters[0], &descriptor, callback);
    queue = api().DeviceGetQueue(device);
  }

  WGPUBuffer buffer(Size bytes, WGPUBufferUsage usage, bool mapped = false) {
    WGPUBufferDescriptor descriptor{};
    descriptor.usage = usage;
    descriptor.size = static_cast<std::uint64_t>(bytes);
    descriptor.mappedAtCreation = mapped;
    return api().DeviceCreateBuffer(device, &descriptor);
  }
  WGPUBuffer storage(Size bytes) {
    return buffer(bytes,
                  WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
  }
  void submit(WGPUCommandEncoder encoder) {
    WGPUCommandBuffer commands = api().CommandEncoderFinish(encoder, nullptr);
    api().CommandEncoderRelease(encoder);
    submitted = api().QueueSubmitForIndex(queue, 1, &commands);
    api().CommandBufferRelease(commands);
  }
  void wait() { poll(device, submitted); }
};

RawDevice& raw() {
  static auto* device = new RawDevice;
  return *device;
}

/// A pipeline with one kept bind group.
class RawKernel {
 public:
  RawKernel(RawDevice& gpu, const Recorded& recorded, const std::vector<WGPUBuffer>& buffers)
      : gpu_(gpu), recorded_(recorded) {
    const gpu::KernelDescription& kernel = recorded_.kernel;
    const KernelInfo& info = recorded_.info;
    std::vector<WGPUBindGroupLayoutEntry> places(info.bindings.size());
    std::vector<WGPUBindGroupEntry> entries(info.bindings.size());
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      places[i].binding = entries[i].binding = i;
      places[i].visibility = WGPUShaderStage_Compute;
      places[i].buffer.type = info.bindings[i].writable ? WGPUBufferBindingType_Storage
                                                        : WGPUBufferBindingType_ReadOnlyStorage;
      entries[i].buffer = buffers[i];
      entries[i].size = WGPU_WHOLE_SIZE;
    }
    WGPUBindGroupLayoutDescriptor layout{};
    layout.entryCount = places.size();
    layout.entries = places.data();
    WGPUBindGroupLayout group_layout = api().DeviceCreateBindGroupLayout(gpu.device, &layout);
    WGPUPipelineLayoutDescriptor whole{};
    whole.bindGroupLayoutCount = 1;
    whole.bindGroupLayouts = &group_layout;
    whole.immediateSize = static_cast<std::uint32_t>(info.params_bytes);
    WGPUShaderSourceWGSL source{};
    source.chain.sType = WGPUSType_ShaderSourceWGSL;
    source.code = webgpu::view(std::string_view(kernel.code.text));
    WGPUShaderModuleDescriptor module{};
    module.nextInChain = &source.chain;
    WGPUComputePipelineDescriptor descriptor{};
    descriptor.layout = api().DeviceCreatePipelineLayout(gpu.device, &whole);
    descriptor.compute.module =
        api().DeviceCreateShaderModuleTrusted(gpu.device, &module, WGPUShaderRuntimeChecks_None);
    descriptor.compute.entryPoint = webgpu::view(std::string_view(kernel.entry));
    pipeline_ = api().DeviceCreateComputePipeline(gpu.device, &descriptor);
    WGPUBindGroupDescriptor group{};
    group.layout = group_layout;
    group.entryCount = entries.size();
    group.entries = entries.data();
    group_ = api().DeviceCreateBindGroup(gpu.device, &group);
  }

  void open() {
    encoder_ = api().DeviceCreateCommandEncoder(gpu_.device, nullptr);
    pass_ = api().CommandEncoderBeginComputePass(encoder_, nullptr);
    api().ComputePassEncoderSetPipeline(pass_, pipeline_);
    api().ComputePassEncoderSetBindGroup(pass_, 0, group_, 0, nullptr);
  }
  void enqueue() {
    api().ComputePassEncoderSetImmediates(pass_, 0, recorded_.params.data(),
                                          recorded_.params.size());
    api().ComputePassEncoderDispatchWorkgroups(pass_, recorded_.grid[0], recorded_.grid[1],
                                               recorded_.grid[2]);
  }
  /// For a kernel that takes turns with another one in its pass.
  void enqueue_in(RawKernel& other) {
    api().ComputePassEncoderSetBindGroup(other.pass_, 0, group_, 0, nullptr);
    other.enqueue();
  }
  WGPUCommandEncoder close() {
    api().ComputePassEncoderEnd(pass_);
    api().ComputePassEncoderRelease(pass_);
    return encoder_;
  }

 private:
  RawDevice& gpu_;
  Recorded recorded_;
  WGPUComputePipeline pipeline_ = nullptr;
  WGPUBindGroup group_ = nullptr;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
};

/// Staging buffers, mapped again as soon as the GPU is done with them.
class RawStaging {
 public:
  static constexpr Size piece = 4 << 20;

  RawStaging(RawDevice& gpu, WGPUMapMode mode) : gpu_(gpu), mode_(mode) {
    const bool writes = mode == WGPUMapMode_Write;
    for (Slot& slot : slots_) {
      slot.buffer = gpu.buffer(piece,
                               writes ? WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc
                                      : WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
                               writes);
      slot.mapped = writes;
    }
  }
  ~RawStaging() {
    for (Slot& slot : slots_) {
      wait_for(slot);
      api().BufferRelease(slot.buffer);
    }
  }

  void upload(WGPUBuffer dst, const std::vector<std::byte>& src) {
    for (Size at = 0; at < large_bytes; at += piece) {
      Slot& slot = slots_[static_cast<std::size_t>(at / piece) % slots_.size()];
      wait_for(slot);
      std::memcpy(api().BufferGetMappedRange(slot.buffer, 0, piece), src.data() + at, piece);
      api().BufferUnmap(slot.buffer);
      slot.mapped = false;
      WGPUCommandEncoder encoder = api().DeviceCreateCommandEncoder(gpu_.device, nullptr);
      api().CommandEncoderCopyBufferToBuffer(encoder, slot.buffer, 0, dst,
                                             static_cast<std::uint64_t>(at), piece);
      gpu_.submit(encoder);
      map(slot);
    }
    gpu_.wait();
  }

  void download(std::vector<std::byte>& dst, WGPUBuffer src, Size bytes) {
    const Size ahead = static_cast<Size>(slots_.size()) * piece;
    for (Size at = -ahead; at < bytes; at += piece) {
      if (at >= 0) {
        Slot& slot = slots_[static_cast<std::size_t>(at / piece) % slots_.size()];
        wait_for(slot);
        const auto now = static_cast<std::size_t>(std::min(piece, bytes - at));
        std::memcpy(dst.data() + at, api().BufferGetConstMappedRange(slot.buffer, 0, now), now);
        api().BufferUnmap(slot.buffer);
        slot.mapped = false;
      }
      if (const Size next = at + ahead; next < bytes) {
        WGPUCommandEncoder encoder = api().DeviceCreateCommandEncoder(gpu_.device, nullptr);
        read(encoder, src, next, std::min(piece, bytes - next));
      }
    }
  }

  /// The copy of one piece as the end of what `encoder` holds.
  void read(WGPUCommandEncoder encoder, WGPUBuffer src, Size at, Size bytes) {
    Slot& slot = slots_[static_cast<std::size_t>(at / piece) % slots_.size()];
    api().CommandEncoderCopyBufferToBuffer(encoder, src, static_cast<std::uint64_t>(at),
                                           slot.buffer, 0, static_cast<std::uint64_t>(bytes));
    gpu_.submit(encoder);
    map(slot);
  }
  void finish_read(std::vector<std::byte>& dst) {
    wait_for(slots_[0]);
    std::memcpy(dst.data(), api().BufferGetConstMappedRange(slots_[0].buffer, 0, dst.size()),
                dst.size());
    api().BufferUnmap(slots_[0].buffer);
    slots_[0].mapped = false;
  }

 private:
  struct Slot {
    WGPUBuffer buffer = nullptr;
    WGPUSubmissionIndex submission = 0;
    bool pending = false, mapped = false;
  };
  void map(Slot& slot) {
    slot.submission = gpu_.submitted;
    slot.pending = true;
    WGPUBufferMapCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowSpontaneous;
    callback.userdata1 = &slot;
    callback.callback = [](WGPUMapAsyncStatus, WGPUStringView, void* of, void*) {
      static_cast<Slot*>(of)->pending = false;
      static_cast<Slot*>(of)->mapped = true;
    };
    api().BufferMapAsync(slot.buffer, mode_, 0, piece, callback);
  }
  void wait_for(Slot& slot) {
    while (slot.pending) poll(gpu_.device, slot.submission);
  }

  RawDevice& gpu_;
  WGPUMapMode mode_;
  std::array<Slot, 4> slots_;
};

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
  for (auto _ : state) {
    kernel.open();
    kernel.enqueue();
    raw().submit(kernel.close());
    raw().wait();
  }
}
BENCHMARK(raw_submit_and_wait)->UseRealTime();

void trait_submit_and_wait(benchmark::State& state) {
  for (auto _ : state) {
    small_trait().forward();
    trait().synchronize();
  }
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
  api().BufferRelease(buffer);
  state.SetBytesProcessed(state.iterations() * large_bytes);
}
BENCHMARK(raw_upload_staged)->UseRealTime()->Unit(benchmark::kMillisecond);

void raw_upload_write_buffer(benchmark::State& state) {
  WGPUBuffer buffer = raw().storage(large_bytes);
  for (auto _ : state) {
    api().QueueWriteBuffer(raw().queue, buffer, 0, host_memory().data(), host_memory().size());
    raw().submit(api().DeviceCreateCommandEncoder(raw().device, nullptr));
    raw().wait();
  }
  api().BufferRelease(buffer);
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
  api().BufferRelease(buffer);
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
    api().QueueWriteBuffer(gpu.queue, input, 0, host.data(), host.size());
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
