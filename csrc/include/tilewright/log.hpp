#pragma once

#include <cstdint>
#include <string_view>

#include "tilewright/export.hpp"

namespace tilewright {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// Receives one line of log. May be called from any thread; must not throw.
using LogSink = void (*)(LogLevel level, std::string_view message) noexcept;

/// Where log lines go; nullptr (the default) drops them. What is logged: the device that was chosen
/// and why, environment variables that changed something, libraries opened. Nothing per op.
TILEWRIGHT_API void set_log_sink(LogSink sink) noexcept;

}  // namespace tilewright
