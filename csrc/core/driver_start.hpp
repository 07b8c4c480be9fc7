#pragma once

#include <mutex>

#include "tilewright/export.hpp"

namespace tilewright {

/// Taken while drivers are loaded and asked for their devices. Forks wait for it: a child would
/// have the locks of the C library as a load leaves them, among them that of what runs at exit.
TILEWRIGHT_API std::mutex& driver_start() noexcept;

}  // namespace tilewright
