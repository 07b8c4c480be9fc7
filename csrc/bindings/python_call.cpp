#include "bindings/python_call.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

namespace tilewright::bindings {

void stand_still() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void forget_error() {
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw pybind11::error_already_set();
  PyErr_Clear();
}

}  // namespace tilewright::bindings
