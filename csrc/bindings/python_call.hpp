#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace tilewright::bindings {

/// Returns with the process alone.
[[noreturn]] void stand_still() noexcept;

/// Calls Python, where that may end this thread: before 3.14 it unwinds a daemon thread that wants
/// the GIL once the interpreter ends, through destructors that would need the GIL and through
/// noexcept. From here such a thread stands still until the process ends, as in 3.14. f calls C
/// functions of Python and makes nothing that has a destructor.
template <class F>
auto call_python(const F& f) {
  try {
    return f();
  } catch (...) {
    stand_still();
  }
}

/// callable(*arguments, **named), for what is written in Python.
pybind11::object call_python(pybind11::handle callable, const pybind11::tuple& arguments,
                             const pybind11::dict& named = {});

/// Lets go of the error that a call of Python left, where it is one of the call itself. What is no
/// Exception, such as the KeyboardInterrupt of Ctrl-C, is thrown on.
void forget_error();

}  // namespace tilewright::bindings
