#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "webgpu/api.hpp"

namespace tilewright::webgpu {

struct Adapter {
  WGPUInstance instance;
  WGPUAdapter handle;
  DeviceInfo info;
  WGPULimits limits;
};

/// All adapters of Vulkan, Metal and DirectX 12, looked up once and kept; with `debug`, of an
/// instance whose drivers check what they are given. Throws BackendUnavailable where wgpu-native
/// cannot be opened, and in a forked child of a process that has looked: drivers do not work on
/// both sides of a fork.
std::span<const Adapter> adapters(bool debug);

/// What an adapter of this type is. wgpu-native calls a virtual GPU, which has a real one behind
/// it, a processor; its PCI vendor tells.
DeviceKind kind_of(WGPUAdapterType type, std::uint32_t vendor);

/// The multiple of bytes that bindings start on: the device's, and that of a vec4 of float32.
std::uint32_t binding_alignment(const WGPULimits& limits);

/// Which of the adapters to keep: a GPU that two APIs reach counts once, under the first of them.
std::vector<bool> without_doubles(std::span<const WGPUAdapterInfo> adapters);

/// The memory of the GPU with these PCI numbers, by what its driver says in `folder`; 0 where none
/// says it, or two say it differently.
std::uint64_t video_memory(std::uint32_t vendor, std::uint32_t device,
                           const std::string& folder = "/sys/class/drm");

}  // namespace tilewright::webgpu
