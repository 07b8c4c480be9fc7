#include "selection/choose.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

std::string joined(std::span<const std::string> names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

int rank(const DeviceInfo& device, std::string_view power_preference) {
  if (power_preference == "low" && device.kind == DeviceKind::integrated) return -1;
  return static_cast<int>(device.kind);
}

const DeviceInfo& best(std::span<const DeviceInfo> devices, bool allow_software,
                       std::string_view power_preference, std::string_view backend) {
  const DeviceInfo* found = nullptr;
  std::string reasons;
  for (const DeviceInfo& device : devices) {
    if (!backend.empty() && device.backend != backend) continue;
    if (!device.available) {
      reasons += text("\n  ", device.id, ": ", device.reason);
    } else if (device.kind == DeviceKind::software && !allow_software) {
      reasons += text("\n  ", device.id, ": ", device.name,
                      " is a software GPU, which is never picked by itself; ask for it by its id "
                      "or set TILEWRIGHT_ALLOW_SOFTWARE=1");
    } else if (found == nullptr ||
               rank(device, power_preference) < rank(*found, power_preference)) {
      found = &device;
    }
  }
  if (found != nullptr) return *found;
  throw BackendUnavailable(text(backend.empty() ? "auto" : backend, ": no device can be used:",
                                reasons.empty() ? " none was found" : reasons,
                                "\n`tilewright doctor` says what to do"));
}

}  // namespace

std::string plain_name(std::string_view given) {
  std::string plain(given);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    if (c == '_') c = '-';
  }
  return plain;
}

const DeviceInfo& choose_device(std::span<const DeviceInfo> devices,
                                std::span<const std::string> backends, std::string_view preference,
                                bool allow_software, std::string_view power_preference,
                                std::string_view asked_by) {
  const std::string wanted = plain_name(preference);
  if (wanted == "auto") return best(devices, allow_software, power_preference, "");
  const std::string backend = wanted.substr(0, wanted.find(':'));
  if (std::find(backends.begin(), backends.end(), backend) == backends.end()) {
    throw InvalidArgument(text(asked_by, " is \"", preference, "\", expected auto, a backend (",
                               joined(backends), ") or a device id such as cpu:0"));
  }
  if (backend == wanted) return best(devices, allow_software, power_preference, backend);
  std::string ids;
  for (const DeviceInfo& device : devices) {
    if (device.backend != backend) continue;
    if (device.id == wanted) {
      if (device.available) return device;
      throw BackendUnavailable(text(device.id, ": ", device.reason));
    }
    ids += (ids.empty() ? "" : ", ") + device.id;
  }
  throw BackendUnavailable(text(asked_by, " is \"", preference, "\", but the devices of ", backend,
                                " are: ", ids.empty() ? "none" : ids));
}

}  // namespace tilewright
