#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tilewright/backend.hpp"

namespace tilewright {

/// The one device, not available, of a backend that this build does not contain.
std::vector<DeviceInfo> absent_devices(std::string_view backend);

/// A backend whose init() says that this build does not contain it.
std::shared_ptr<Backend> make_absent(std::string_view backend, const Config& config);

}  // namespace tilewright
