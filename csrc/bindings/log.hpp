#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Starts to collect the core's log lines for logging.getLogger("tilewright").
///
/// Lines may come from any thread and under the core's locks, where the GIL must not be taken.
/// They wait in a queue until a call that returns to Python hands them over.
void bind_log(pybind11::module_& module);

/// Hands waiting lines over; needs the GIL. Never raises, and keeps a Python error that is set.
void deliver_log() noexcept;

}  // namespace tilewright::bindings
