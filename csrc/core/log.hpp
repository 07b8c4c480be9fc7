#pragma once

#include <string>

#include "tilewright/log.hpp"

namespace tilewright {

bool log_enabled() noexcept;
void log(LogLevel level, const std::string& message) noexcept;

}  // namespace tilewright
