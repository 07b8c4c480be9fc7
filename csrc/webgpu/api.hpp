#pragma once

#include <memory>
#include <string>

#include "wgpu.h"

namespace tilewright::webgpu {

/// The calls of wgpu-native that are used, without their prefix "wgpu".
// clang-format off
#define TILEWRIGHT_WGPU_CALLS(X)                                                                  \
  X(GetVersion) X(SetLogCallback) X(SetLogLevel) X(CreateInstance)                                \
  X(InstanceEnumerateAdapters) X(AdapterGetInfo) X(AdapterInfoFreeMembers) X(AdapterGetLimits)    \
  X(AdapterHasFeature) X(AdapterRequestDevice) X(DeviceGetQueue) X(DeviceGetLimits)               \
  X(DeviceHasFeature) X(InstanceProcessEvents) X(DeviceRelease) X(DeviceCreateBuffer)                        \
  X(DeviceCreateBindGroup) X(DeviceCreateBindGroupLayout) X(DeviceCreatePipelineLayout)           \
  X(DeviceCreateComputePipeline) X(DeviceCreateShaderModule)                                      \
  X(DeviceCreateShaderModuleTrusted) X(DeviceCreateCommandEncoder) X(BufferMapAsync)              \
  X(BufferGetConstMappedRange) X(BufferGetMappedRange) X(BufferUnmap) X(BufferRelease)                                    \
  X(CommandEncoderBeginComputePass) X(CommandEncoderCopyBufferToBuffer)                           \
  X(CommandEncoderFinish) X(CommandEncoderRelease) X(ComputePassEncoderSetPipeline)               \
  X(ComputePassEncoderSetBindGroup) X(ComputePassEncoderSetImmediates)                            \
  X(ComputePassEncoderDispatchWorkgroups) X(ComputePassEncoderEnd)                                \
  X(ComputePassEncoderRelease) X(QueueSubmitForIndex) X(QueueWriteBuffer) X(QueueRelease) X(QueueOnSubmittedWorkDone)         \
  X(CommandBufferRelease) X(BindGroupRelease) X(BindGroupLayoutRelease)                           \
  X(DeviceCreateQuerySet) X(QuerySetRelease) X(CommandEncoderResolveQuerySet)                     \
  X(QueueGetTimestampPeriod) X(PipelineLayoutRelease) X(ComputePipelineRelease) X(ShaderModuleRelease)
// clang-format on

/// wgpu-native, opened at run time into this table. Never closed: its threads may outlive us.
struct Api {
#define TILEWRIGHT_WGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  TILEWRIGHT_WGPU_CALLS(TILEWRIGHT_WGPU_MEMBER)
#undef TILEWRIGHT_WGPU_MEMBER

  std::string path;
  std::string version;  ///< "29.0.1.1"
};

/// Opened once: TILEWRIGHT_WGPU_LIBRARY, else the library beside ours. Throws BackendUnavailable
/// saying what was tried; a version other than the one of the headers says both.
const Api& api();

inline WGPUStringView view(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view view(WGPUStringView s) {
  if (s.data == nullptr) return {};
  return s.length == WGPU_STRLEN ? std::string_view(s.data) : std::string_view(s.data, s.length);
}

}  // namespace tilewright::webgpu
