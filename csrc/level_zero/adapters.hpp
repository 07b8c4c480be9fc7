#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "level_zero/api.hpp"
#include "tilewright/device.hpp"

namespace tilewright::level_zero {

/// A GPU, or one of its tiles.
struct Adapter {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t handle = nullptr;
  DeviceInfo info;  ///< of one that is not available only id, name and reason
  ze_device_properties_t properties;
  ze_device_compute_properties_t compute;
  ze_device_module_properties_t module;
  std::uint32_t driver_version = 0;
  ze_api_version_t api_version = ZE_API_VERSION_1_0;
  bool dpas = false;           ///< it has matrix units that kernels reach
  bool large_buffers = false;  ///< may hold more in one than properties.maxMemAllocSize
  std::uint32_t compute_group = 0;
  std::optional<std::uint32_t> copy_group;  ///< of queues that copy and do nothing else
  double tick_ns = 0;                       ///< of kernel timestamps; 0 where there are none
};

/// All GPUs of all drivers and then their tiles, looked up once and kept. Throws BackendUnavailable
/// where the loader cannot be opened or finds none, saying why, and in a forked child of a process
/// that has looked: drivers do not work on both sides of a fork.
std::span<const Adapter> adapters();

}  // namespace tilewright::level_zero
