#include <cstdlib>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "selection/backends.hpp"
#include "webgpu/adapters.hpp"
#include "webgpu/device.hpp"

namespace tilewright {

namespace {

DeviceInfo unavailable(const std::string& reason) {
  DeviceInfo info;
  info.id = "webgpu:0";
  info.backend = "webgpu";
  info.reason = reason;
  return info;
}

std::vector<DeviceInfo> devices() {
  try {
    std::vector<DeviceInfo> all;
    for (const webgpu::Adapter& adapter : webgpu::adapters()) all.push_back(adapter.info);
    if (all.empty()) {
      all.push_back(
          unavailable("no GPU with Vulkan, Metal or DirectX 12 was found; install the GPU's driver "
                      "(`tilewright "
                      "doctor` names the command)"));
    }
    return all;
  } catch (const Error& error) {
    return {unavailable(error.what())};
  }
}

std::shared_ptr<gpu::Device> open_device(const Config& config) {
  const auto adapters = webgpu::adapters();
  if (adapters.empty()) throw BackendUnavailable(text("webgpu: ", devices()[0].reason));
  const auto index = static_cast<std::size_t>(config.adapter_index.value_or(0));
  if (index >= adapters.size()) {
    throw BackendUnavailable(
        text("webgpu: adapter_index is ", index, ", but there are ", adapters.size(), " adapters"));
  }
  return std::make_shared<webgpu::Device>(adapters[index], config);
}

}  // namespace

BackendEntry webgpu_entry() {
  return {"webgpu", devices, [](const Config& config) -> std::shared_ptr<Backend> {
            return std::make_shared<gpu::GpuBackend>("webgpu", config, open_device);
          }};
}

}  // namespace tilewright
