#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "webgpu/dawn.hpp"
#include "wgpu.h"

namespace tilewright::webgpu {

/// The two libraries that WebGPU is driven through.
enum class Implementation : std::uint8_t { wgpu, dawn };

// Calls of webgpu.h that are used, without their prefix "wgpu".
// clang-format off
#define TILEWRIGHT_WEBGPU_CALLS(X)                                                                \
  X(CreateInstance) X(AdapterGetInfo) X(AdapterInfoFreeMembers) X(AdapterGetLimits)               \
  X(AdapterHasFeature) X(AdapterRequestDevice) X(DeviceGetQueue) X(DeviceGetLimits)               \
  X(DeviceHasFeature) X(InstanceProcessEvents) X(DeviceRelease) X(DeviceCreateBuffer)             \
  X(DeviceCreateBindGroup) X(DeviceCreateBindGroupLayout) X(DeviceCreatePipelineLayout)           \
  X(DeviceCreateComputePipeline) X(DeviceCreateShaderModule) X(DeviceCreateCommandEncoder)        \
  X(BufferMapAsync) X(BufferGetConstMappedRange) X(BufferGetMappedRange) X(BufferUnmap)           \
  X(BufferRelease) X(CommandEncoderBeginComputePass) X(CommandEncoderCopyBufferToBuffer)          \
  X(CommandEncoderFinish) X(CommandEncoderRelease) X(ComputePassEncoderSetPipeline)               \
  X(ComputePassEncoderSetBindGroup) X(ComputePassEncoderSetImmediates)                            \
  X(ComputePassEncoderDispatchWorkgroups) X(ComputePassEncoderEnd) X(ComputePassEncoderRelease)   \
  X(QueueSubmit) X(QueueWriteBuffer) X(QueueRelease) X(QueueOnSubmittedWorkDone)                  \
  X(CommandBufferRelease) X(BindGroupRelease) X(BindGroupLayoutRelease) X(DeviceCreateQuerySet)   \
  X(QuerySetRelease) X(CommandEncoderResolveQuerySet) X(PipelineLayoutRelease)                    \
  X(ComputePipelineRelease) X(ShaderModuleRelease)
/// Those of wgpu-native alone.
#define TILEWRIGHT_WGPU_CALLS(X)                                                                  \
  X(GetVersion) X(SetLogCallback) X(SetLogLevel) X(InstanceEnumerateAdapters)                     \
  X(DeviceCreateShaderModuleTrusted) X(QueueGetTimestampPeriod)
/// Those that only Dawn needs, of the same header, and Dawn's own.
#define TILEWRIGHT_DAWN_CALLS(X) X(InstanceRequestAdapter) X(AdapterRelease)
#define TILEWRIGHT_DAWN_OWN_CALLS(X)                                                              \
  X(AdapterPropertiesSubgroupMatrixConfigsFreeMembers)                                            \
  X(AdapterPropertiesMemoryHeapsFreeMembers) X(DeviceSetLoggingCallback)
// clang-format on

/// One of the libraries, opened at run time into this table. Never closed: its threads may outlive
/// us.
struct Api {
#define TILEWRIGHT_WEBGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  TILEWRIGHT_WEBGPU_CALLS(TILEWRIGHT_WEBGPU_MEMBER)
  TILEWRIGHT_WGPU_CALLS(TILEWRIGHT_WEBGPU_MEMBER)
  TILEWRIGHT_DAWN_CALLS(TILEWRIGHT_WEBGPU_MEMBER)
#undef TILEWRIGHT_WEBGPU_MEMBER
#define TILEWRIGHT_WEBGPU_MEMBER(name) dawn::name* name = nullptr;
  TILEWRIGHT_DAWN_OWN_CALLS(TILEWRIGHT_WEBGPU_MEMBER)
#undef TILEWRIGHT_WEBGPU_MEMBER
  /// Null where this build of Dawn lacks it.
  dawn::EnumerateAdapters* enumerate_adapters = nullptr;
  /// Dawn's, whether its cache is asked as dawn.hpp declares it, which differs between versions.
  bool has_cache = false;

  Implementation implementation = Implementation::wgpu;
  std::string name;  ///< "wgpu-native 29.0.1.1"
  std::string path;  ///< of wgpu-native

  bool is_dawn() const { return implementation == Implementation::dawn; }
};

/// wgpu-native, opened once: TILEWRIGHT_WGPU_LIBRARY, else the library beside ours. Throws
/// BackendUnavailable saying what was tried; a version other than the one of the headers says both.
const Api& wgpu_native();

/// Dawn, opened once: TILEWRIGHT_DAWN_LIBRARY, else what set_dawn() names. Throws
/// BackendUnavailable saying what was tried.
const Api& dawn_api();

/// Dawn by its wgpuGetProcAddress. Throws BackendUnavailable, naming it, where calls are missing.
Api dawn_by(dawn::GetProcAddress* get_proc_address, const std::string& name);

inline WGPUStringView view(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view view(WGPUStringView s) {
  if (s.data == nullptr) return {};
  return s.length == WGPU_STRLEN ? std::string_view(s.data) : std::string_view(s.data, s.length);
}

}  // namespace tilewright::webgpu
