#include "core/log.hpp"

#include <atomic>

namespace tilewright {

namespace {
std::atomic<LogSink> sink{nullptr};
}

void set_log_sink(LogSink new_sink) noexcept { sink.store(new_sink); }

bool log_enabled() noexcept { return sink.load(std::memory_order_relaxed) != nullptr; }

void log(LogLevel level, const std::string& message) noexcept {
  if (LogSink current = sink.load()) current(level, message);
}

}  // namespace tilewright
