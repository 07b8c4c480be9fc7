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
/// where wgpu-native cannot be opened.
std::span<const Adapter> adapters();

/// Changes in a forked child, where nothing of the parent's devices may be used.
unsigned fork_generation();

}  // namespace tilewright::webgpu
