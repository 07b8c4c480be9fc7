#include "tilewright/registry.hpp"

#include <array>

#include "core/dawn_library.hpp"
#include "core/environment.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "selection/backends.hpp"
#include "selection/choose.hpp"

namespace tilewright {

namespace {

const std::array<BackendEntry, 3> entries{level_zero_entry(), webgpu_entry(), cpu_entry()};

const BackendEntry& entry_of(std::string_view name) {
  const std::string plain = plain_name(name);
  std::string names;
  for (const BackendEntry& entry : backend_entries()) {
    if (entry.name == plain) return entry;
    names += text(names.empty() ? "" : ", ", entry.name);
  }
  throw InvalidArgument(text("backend is \"", name, "\", expected one of ", names));
}

/// Every device that a preference can mean: a named backend opens no other one's library.
std::vector<DeviceInfo> devices_of(std::string_view preference, const Config& config = {}) {
  const std::string backend = plain_name(preference.substr(0, preference.find(':')));
  std::vector<DeviceInfo> all;
  for (const BackendEntry& entry : backend_entries()) {
    if (backend != "auto" && backend != entry.name) continue;
    for (DeviceInfo& device : entry.devices(config)) all.push_back(std::move(device));
  }
  return all;
}

/// Of every backend that a preference can mean.
void check_environment(std::string_view preference, const Config& config) {
  const std::string backend = plain_name(preference.substr(0, preference.find(':')));
  for (const BackendEntry& entry : backend_entries()) {
    if (backend == "auto" || backend == entry.name) entry.check_environment(config);
  }
}

Size index_of(const DeviceInfo& device) {
  return std::stoll(device.id.substr(device.id.find(':') + 1));
}

}  // namespace

std::span<const BackendEntry> backend_entries() { return entries; }

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backend_entries()) names.emplace_back(entry.name);
  return names;
}

bool lacks_dawn(std::string_view preference, const Config& config) {
  std::string wanted = plain_name(preference);
  if (wanted == "auto") wanted = plain_name(environment("TILEWRIGHT_DEVICE").value_or(wanted));
  wanted = wanted.substr(0, wanted.find(':'));
  if (wanted != "auto" && wanted != "webgpu") return false;
  const std::string implementation =
      config.implementation != "auto" ? config.implementation
                                      : plain_name(environment("TILEWRIGHT_WEBGPU").value_or(""));
  return implementation != "wgpu" && !environment("TILEWRIGHT_DAWN_LIBRARY") && !given_dawn();
}

std::vector<DeviceInfo> devices() { return devices_of("auto"); }

bool is_available(std::string_view name) {
  const BackendEntry& entry = entry_of(name);
  for (const DeviceInfo& device : entry.devices({})) {
    if (!device.available) continue;
    Config config;
    config.adapter_index = index_of(device);
    try {
      entry.make(config)->init();
      return true;
    } catch (const Error& error) {
      log(LogLevel::info, text(device.id, " is listed, but cannot be opened: ", error.what()));
    }
  }
  return false;
}

std::shared_ptr<Backend> make_backend(std::string_view name, const Config& config) {
  return entry_of(name).make(config);
}

std::shared_ptr<Backend> init_backend(std::string_view preference, const Config& config) {
  std::string wanted(preference);
  std::string_view asked_by = "preference";
  if (plain_name(wanted) == "auto") {
    if (const auto set = environment("TILEWRIGHT_DEVICE")) {
      wanted = *set;
      asked_by = "TILEWRIGHT_DEVICE";
      log(LogLevel::info, text(asked_by, " asks for ", wanted));
    }
  }
  if (!is_webgpu_implementation(config.implementation)) (void)make_backend("webgpu", config);
  if (config.adapter_index) {
    // An index counts a backend's devices, so it needs one, and says nothing beside a device's id.
    if (plain_name(wanted) == "auto" || wanted.find(':') != std::string::npos) {
      throw InvalidArgument(text("init_backend: adapter_index is ", *config.adapter_index, ", but ",
                                 asked_by, " is \"", wanted,
                                 "\"; name a backend with it, or leave it out"));
    }
    make_backend(wanted, config);  // refuses what is wrong in config before a device is looked for
    wanted += text(":", *config.adapter_index);
  }
  check_environment(wanted, config);
  const std::vector<DeviceInfo> all = devices_of(wanted, config);
  const DeviceInfo* const chosen = &choose_device(
      all, backend_names(), wanted, environment_flag("TILEWRIGHT_ALLOW_SOFTWARE", false),
      config.power_preference, asked_by);
  Config chosen_config = config;
  chosen_config.adapter_index = index_of(*chosen);
  log(LogLevel::info, text(preference, ": chose ", chosen->id, " (", chosen->name, ")"));
  std::shared_ptr<Backend> backend = make_backend(chosen->backend, chosen_config);
  backend->init();
  return backend;
}

}  // namespace tilewright
