#include "bindings/log.hpp"

#include <atomic>
#include <new>
#include <string>
#include <utility>

#include "bindings/convert.hpp"
#include "tilewright/log.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

struct Line {
  LogLevel level;
  std::string message;
  Line* next;
};

constexpr int most_waiting = 1000;

// Newest first. Without a lock, so that a fork cannot leave one taken.
std::atomic<Line*> waiting{nullptr};
std::atomic<int> waiting_count{0};

void collect(LogLevel level, std::string_view message) noexcept {
  if (waiting_count.load(std::memory_order_relaxed) >= most_waiting) return;
  try {
    auto* line = new Line{level, std::string(message), waiting.load(std::memory_order_relaxed)};
    while (!waiting.compare_exchange_weak(line->next, line, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    waiting_count.fetch_add(1, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // Without memory the line is lost, not the call.
  }
}

Line* take_oldest_first() noexcept {
  Line* newest = waiting.exchange(nullptr, std::memory_order_acquire);
  Line* oldest = nullptr;
  while (newest != nullptr) {
    waiting_count.fetch_sub(1, std::memory_order_relaxed);
    oldest = std::exchange(newest, std::exchange(newest->next, oldest));
  }
  return oldest;
}

int python_level(LogLevel level) noexcept { return 10 * (static_cast<int>(level) + 1); }

}  // namespace

void deliver_log() noexcept {
  if (waiting.load(std::memory_order_relaxed) == nullptr) return;
  const py::error_scope keep_error;
  Line* line = take_oldest_first();
  while (line != nullptr) {
    try {
      const py::object logger = py::module_::import("logging").attr("getLogger")("tilewright");
      logger.attr("log")(python_level(line->level), "%s", to_str(line->message));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("tilewright log");
    } catch (...) {
      // What is left to fail is memory for the objects: the line is lost, not the call.
    }
    delete std::exchange(line, line->next);
  }
}

void bind_log(py::module_&) { set_log_sink(collect); }

}  // namespace tilewright::bindings
