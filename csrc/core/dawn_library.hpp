#pragma once

#include <optional>
#include <string_view>

#include "tilewright/registry.hpp"

namespace tilewright {

/// What TILEWRIGHT_WEBGPU and Config::implementation may be.
bool is_webgpu_implementation(std::string_view name);

/// What set_dawn() was called with, if it was.
std::optional<DawnLibrary> given_dawn();

}  // namespace tilewright
