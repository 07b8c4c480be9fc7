#pragma once

#include "tilewright/export.hpp"

#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 1
#define TILEWRIGHT_VERSION_PATCH 0
#define TILEWRIGHT_VERSION "0.1.0"

namespace tilewright {

/// The version of the library that is loaded, which may differ from the header's
/// TILEWRIGHT_VERSION.
TILEWRIGHT_API const char* version() noexcept;

}  // namespace tilewright
