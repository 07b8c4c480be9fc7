#include "bindings/log.hpp"

#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "bindings/python_call.hpp"
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

// Borrowed for the life of the process: threads may log until its end.
py::handle logger;
py::handle place_of_failures;

/// Whether Python took the line; else an exception is set.
bool write(const Line& line) {
  const auto size = static_cast<Py_ssize_t>(line.message.size());
  const auto message =
      py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(line.message.data(), size, "replace"));
  if (!message) return false;
  PyObject* const done = call_python([&] {
    return PyObject_CallMethod(logger.ptr(), "log", "isO", python_level(line.level), "%s",
                               message.ptr());
  });
  Py_XDECREF(done);
  return done != nullptr;
}

}  // namespace

void deliver_log() {
  if (waiting.load(std::memory_order_relaxed) == nullptr) return;
  // The first exception that is none of the log's own: a signal's, such as KeyboardInterrupt.
  std::optional<py::error_already_set> interrupt;
  const auto keep = [&] {
    if (!interrupt) interrupt.emplace();
    PyErr_Clear();
  };
  // Signals that came during the call first: what they raise can be anything.
  if (call_python([] { return PyErr_CheckSignals(); }) != 0) keep();
  Line* line = take_oldest_first();
  while (line != nullptr) {
    if (!write(*line)) {
      if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
        keep();
      } else {
        call_python([] { PyErr_WriteUnraisable(place_of_failures.ptr()); });
      }
    }
    delete std::exchange(line, line->next);
  }
  if (interrupt) throw py::error_already_set(*interrupt);
}

void bind_log(py::module_&) {
  logger = py::module_::import("logging").attr("getLogger")("tilewright").release();
  place_of_failures = py::str("tilewright log").release();
  set_log_sink(collect);
}

}  // namespace tilewright::bindings
