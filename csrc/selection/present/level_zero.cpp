#include "core/environment.hpp"
#include "gpu/backend.hpp"
#include "level_zero/adapters.hpp"
#include "level_zero/device.hpp"
#include "selection/backends.hpp"
#include "selection/pick.hpp"

namespace tilewright {

namespace {

std::vector<DeviceInfo> devices(const Config&) {
  try {
    std::vector<DeviceInfo> all;
    for (const level_zero::Adapter& adapter : level_zero::adapters()) all.push_back(adapter.info);
    return all;
  } catch (const Error& error) {
    return {unavailable_device("level-zero", error.what())};
  }
}

std::shared_ptr<gpu::Device> open_device(const Config& config, gpu::DeviceUse) {
  const std::size_t index = device_index("level-zero", devices(config), config);
  return std::make_shared<level_zero::Device>(level_zero::adapters()[index], config);
}

}  // namespace

BackendEntry level_zero_entry() {
  return {"level-zero", devices,
          [](const Config& config) -> std::shared_ptr<Backend> {
            return std::make_shared<gpu::GpuBackend>("level-zero", config, open_device);
          },
          [](const Config&) { (void)environment_flag("TILEWRIGHT_ZE_SUBGROUPS", true); }};
}

}  // namespace tilewright
