// Raw calls of wgpu-native for webgpu_dispatch.cpp, with everything kept that can be kept: the same
// kernels as the backend launches, taken down from it.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/dynamic_library.hpp"
#include "recorder.hpp"
#include "tilewright/tilewright.hpp"
#include "webgpu/api.hpp"
#include "webgpu/wgsl_interface.hpp"
#include "webgpu/wgsl_text.hpp"

namespace tilewright {

using webgpu::wgpu_native;

// What the backend launches ----------------------------------------------------------------------

template <class Op>
Recorded record(const Op& op) {
  return record(
      gpu::KernelLanguage::wgsl,
      [](const gpu::KernelDescription& kernel) {
        return webgpu::interface_of(kernel, webgpu::tokens_of(kernel.code.text)).info;
      },
      op);
}

inline constexpr Size side = 256;  // of the first product
inline constexpr Size matrix_bytes = 4 * side * side;
inline constexpr Size large_bytes = 256 << 20;

inline Recorded small_op() {
  return record([](Backend& be) {
    be.unary(UnaryOp::relu, be.alloc(4 * small), be.alloc(4 * small), small);
  });
}

inline void product(Backend& be, Buffer a, Buffer b, Buffer c) {
  be.gemm(Transpose::none, Transpose::none, side, side, side, 1, a, side, b, side, 0, c, side);
}

// Raw calls --------------------------------------------------------------------------------------

[[noreturn]] inline void stop(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void*,
                              void*) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(message.length), message.data);
  std::exit(1);
}

/// wgpu-native's own wait, which the backend does without: it ends the process on a lost device.
inline void poll(WGPUDevice device, WGPUSubmissionIndex until) {
  static const auto call =
      DynamicLibrary(wgpu_native().path).function<decltype(::wgpuDevicePoll)>("wgpuDevicePoll");
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
    WGPUInstance opened = wgpu_native().CreateInstance(&instance);
    std::vector<WGPUAdapter> adapters(
        wgpu_native().InstanceEnumerateAdapters(opened, &options, nullptr));
    if (adapters.empty()) throw std::runtime_error("no WebGPU device was found");
    wgpu_native().InstanceEnumerateAdapters(opened, &options, adapters.data());
    WGPULimits limits{};
    wgpu_native().AdapterGetLimits(adapters[0], &limits);
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
    wgpu_native().AdapterRequestDevice(adapters[0], &descriptor, callback);
    queue = wgpu_native().DeviceGetQueue(device);
  }

  WGPUBuffer buffer(Size bytes, WGPUBufferUsage usage, bool mapped = false) {
    WGPUBufferDescriptor descriptor{};
    descriptor.usage = usage;
    descriptor.size = static_cast<std::uint64_t>(bytes);
    descriptor.mappedAtCreation = mapped;
    return wgpu_native().DeviceCreateBuffer(device, &descriptor);
  }
  WGPUBuffer storage(Size bytes) {
    return buffer(bytes,
                  WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
  }
  void submit(WGPUCommandEncoder encoder) {
    WGPUCommandBuffer commands = wgpu_native().CommandEncoderFinish(encoder, nullptr);
    wgpu_native().CommandEncoderRelease(encoder);
    static const auto submit =
        DynamicLibrary(wgpu_native().path)
            .function<decltype(::wgpuQueueSubmitForIndex)>("wgpuQueueSubmitForIndex");
    submitted = submit(queue, 1, &commands);
    wgpu_native().CommandBufferRelease(commands);
  }
  void wait() { poll(device, submitted); }
};

inline RawDevice& raw() {
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
    WGPUBindGroupLayout group_layout =
        wgpu_native().DeviceCreateBindGroupLayout(gpu.device, &layout);
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
    descriptor.layout = wgpu_native().DeviceCreatePipelineLayout(gpu.device, &whole);
    descriptor.compute.module = wgpu_native().DeviceCreateShaderModuleTrusted(
        gpu.device, &module, WGPUShaderRuntimeChecks_None);
    descriptor.compute.entryPoint = webgpu::view(std::string_view(kernel.entry));
    pipeline_ = wgpu_native().DeviceCreateComputePipeline(gpu.device, &descriptor);
    WGPUBindGroupDescriptor group{};
    group.layout = group_layout;
    group.entryCount = entries.size();
    group.entries = entries.data();
    group_ = wgpu_native().DeviceCreateBindGroup(gpu.device, &group);
  }

  void open() {
    encoder_ = wgpu_native().DeviceCreateCommandEncoder(gpu_.device, nullptr);
    pass_ = wgpu_native().CommandEncoderBeginComputePass(encoder_, nullptr);
    wgpu_native().ComputePassEncoderSetPipeline(pass_, pipeline_);
    wgpu_native().ComputePassEncoderSetBindGroup(pass_, 0, group_, 0, nullptr);
  }
  void enqueue() {
    if (!recorded_.params.empty()) {
      wgpu_native().ComputePassEncoderSetImmediates(pass_, 0, recorded_.params.data(),
                                                    recorded_.params.size());
    }
    wgpu_native().ComputePassEncoderDispatchWorkgroups(pass_, recorded_.grid[0], recorded_.grid[1],
                                                       recorded_.grid[2]);
  }
  /// For a kernel that takes turns with another one in its pass.
  void enqueue_in(RawKernel& other) {
    wgpu_native().ComputePassEncoderSetBindGroup(other.pass_, 0, group_, 0, nullptr);
    other.enqueue();
  }
  WGPUCommandEncoder close() {
    wgpu_native().ComputePassEncoderEnd(pass_);
    wgpu_native().ComputePassEncoderRelease(pass_);
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
      wgpu_native().BufferRelease(slot.buffer);
    }
  }

  void upload(WGPUBuffer dst, const std::vector<std::byte>& src) {
    for (Size at = 0; at < large_bytes; at += piece) {
      Slot& slot = slots_[static_cast<std::size_t>(at / piece) % slots_.size()];
      wait_for(slot);
      std::memcpy(wgpu_native().BufferGetMappedRange(slot.buffer, 0, piece), src.data() + at,
                  piece);
      wgpu_native().BufferUnmap(slot.buffer);
      slot.mapped = false;
      WGPUCommandEncoder encoder = wgpu_native().DeviceCreateCommandEncoder(gpu_.device, nullptr);
      wgpu_native().CommandEncoderCopyBufferToBuffer(encoder, slot.buffer, 0, dst,
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
        std::memcpy(dst.data() + at, wgpu_native().BufferGetConstMappedRange(slot.buffer, 0, now),
                    now);
        wgpu_native().BufferUnmap(slot.buffer);
        slot.mapped = false;
      }
      if (const Size next = at + ahead; next < bytes) {
        WGPUCommandEncoder encoder = wgpu_native().DeviceCreateCommandEncoder(gpu_.device, nullptr);
        read(encoder, src, next, std::min(piece, bytes - next));
      }
    }
  }

  /// The copy of one piece as the end of what `encoder` holds.
  void read(WGPUCommandEncoder encoder, WGPUBuffer src, Size at, Size bytes) {
    Slot& slot = slots_[static_cast<std::size_t>(at / piece) % slots_.size()];
    wgpu_native().CommandEncoderCopyBufferToBuffer(encoder, src, static_cast<std::uint64_t>(at),
                                                   slot.buffer, 0,
                                                   static_cast<std::uint64_t>(bytes));
    gpu_.submit(encoder);
    map(slot);
  }
  void finish_read(std::vector<std::byte>& dst) {
    wait_for(slots_[0]);
    std::memcpy(dst.data(),
                wgpu_native().BufferGetConstMappedRange(slots_[0].buffer, 0, dst.size()),
                dst.size());
    wgpu_native().BufferUnmap(slots_[0].buffer);
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
    wgpu_native().BufferMapAsync(slot.buffer, mode_, 0, piece, callback);
  }
  void wait_for(Slot& slot) {
    while (slot.pending) poll(gpu_.device, slot.submission);
  }

  RawDevice& gpu_;
  WGPUMapMode mode_;
  std::array<Slot, 4> slots_;
};

}  // namespace tilewright
