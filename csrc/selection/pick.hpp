#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tilewright/backend.hpp"

namespace tilewright {

/// What stands for the devices of a backend that has none, with the reason.
DeviceInfo unavailable_device(std::string_view backend, const std::string& reason);

/// Which of a backend's devices to open: the one that was asked for, or the best.
std::size_t device_index(std::string_view backend, std::span<const DeviceInfo> devices,
                         const Config& config);

}  // namespace tilewright
