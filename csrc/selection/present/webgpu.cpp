#include "gpu/backend.hpp"
#include "selection/backends.hpp"
#include "selection/pick.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/device.hpp"

namespace tilewright {

namespace {

std::vector<DeviceInfo> devices(const Config& config) {
  try {
    std::vector<DeviceInfo> all;
    for (const webgpu::Adapter& adapter : webgpu::adapters(config.implementation, false)) {
      all.push_back(adapter.info);
    }
    if (all.empty()) {
      all.push_back(unavailable_device(
          "webgpu",
          "no GPU with Vulkan, Metal or DirectX 12 was found; install the GPU's driver "
          "(`tilewright "
          "doctor` names the command)"));
    }
    return all;
  } catch (const Error& error) {
    return {unavailable_device("webgpu", error.what())};
  }
}

std::shared_ptr<gpu::Device> open_device(const Config& config, gpu::DeviceUse use) {
  webgpu::check_environment(config.implementation);
  const std::size_t index = device_index("webgpu", devices(config), config);
  return std::make_shared<webgpu::Device>(
      webgpu::adapters(config.implementation, config.debug_mode)[index], config, use);
}

}  // namespace

BackendEntry webgpu_entry() {
  return {"webgpu", devices,
          [](const Config& config) -> std::shared_ptr<Backend> {
            return std::make_shared<gpu::GpuBackend>("webgpu", config, open_device);
          },
          [](const Config& config) { webgpu::check_environment(config.implementation); }};
}

}  // namespace tilewright
