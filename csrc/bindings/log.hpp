#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Starts to collect the core's log lines for logging.getLogger("tilewright").
///
/// Lines may come from any thread and under the core's locks, where the GIL must not be taken.
/// They wait in a queue until a call that returns to Python hands them over.
void bind_log(pybind11::module_& module);

/// Hands waiting lines over; needs the GIL. What a handler raises is unraisable, so that it fails
/// no call; what a signal raises, such as the KeyboardInterrupt of Ctrl-C, is thrown.
void deliver_log();

}  // namespace tilewright::bindings
