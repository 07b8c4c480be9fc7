#pragma once

#include <span>

#include "tilewright/device.hpp"
#include "webgpu/api.hpp"

namespace tilewright::webgpu {

struct Adapter {
  WGPUAdapter handle;
  DeviceInfo info;
  WGPULimits limits;
};

/// All adapters of Vulkan, Metal and DirectX 12, looked up once and kept. Throws BackendUnavailable
/// where wgpu-native cannot be opened, and in a forked child of a process that has looked: drivers
/// do not work on both sides of a fork.
std::span<const Adapter> adapters();

/// What the adapters belong to; only after adapters().
WGPUInstance instance();

/// Changes in a forked child, where nothing of the parent's devices may be used.
unsigned fork_generation();

}  // namespace tilewright::webgpu
