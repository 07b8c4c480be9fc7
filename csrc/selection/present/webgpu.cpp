#include "core/environment.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "selection/backends.hpp"
#include "selection/choose.hpp"
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
    for (const webgpu::Adapter& adapter : webgpu::adapters(false)) all.push_back(adapter.info);
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

/// The index that was asked for, or that of the best device.
std::size_t index_for(const Config& config) {
  if (config.adapter_index) return static_cast<std::size_t>(*config.adapter_index);
  const std::vector<DeviceInfo> all = devices();
  const std::string name = "webgpu";
  const DeviceInfo& best =
      choose_device(all, std::span(&name, 1), name,
                    environment_flag("TILEWRIGHT_ALLOW_SOFTWARE", false), config.power_preference);
  return static_cast<std::size_t>(&best - all.data());
}

std::shared_ptr<gpu::Device> open_device(const Config& config) {
  const std::size_t index = index_for(config);
  const auto adapters = webgpu::adapters(config.debug_mode);
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
