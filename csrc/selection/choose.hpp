#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tilewright/device.hpp"

namespace tilewright {

/// A backend's name or a device's id as the registry has it, whatever its case and with - for _.
std::string plain_name(std::string_view given);

/// The device that a preference ("auto", a backend's name, a device's id) means. `devices` are in
/// the backends' order of priority. Throws InvalidArgument for a name that no backend has, and
/// BackendUnavailable with the reasons where nothing fits; they call the preference `asked_by`.
const DeviceInfo& choose_device(std::span<const DeviceInfo> devices,
                                std::span<const std::string> backends, std::string_view preference,
                                bool allow_software, std::string_view power_preference = "",
                                std::string_view asked_by = "preference");

}  // namespace tilewright
