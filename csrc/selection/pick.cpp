#include "selection/pick.hpp"

#include "core/environment.hpp"
#include "core/text.hpp"
#include "selection/choose.hpp"

namespace tilewright {

DeviceInfo unavailable_device(std::string_view backend, const std::string& reason) {
  DeviceInfo info;
  info.id = text(backend, ":0");
  info.backend = backend;
  info.kind = DeviceKind::discrete;
  info.reason = reason;
  return info;
}

std::size_t device_index(std::string_view backend, std::span<const DeviceInfo> devices,
                         const Config& config) {
  if (config.adapter_index) {
    const auto index = static_cast<std::size_t>(*config.adapter_index);
    if (index < devices.size()) return index;
    throw BackendUnavailable(text(backend, ": adapter_index is ", index, ", but there are ",
                                  devices.size(), " adapters"));
  }
  const std::string name(backend);
  const DeviceInfo& best =
      choose_device(devices, std::span(&name, 1), name,
                    environment_flag("TILEWRIGHT_ALLOW_SOFTWARE", false), config.power_preference);
  return static_cast<std::size_t>(&best - devices.data());
}

}  // namespace tilewright
