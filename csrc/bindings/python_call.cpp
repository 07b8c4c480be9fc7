#include "bindings/python_call.hpp"

#include <chrono>
#include <thread>

namespace tilewright::bindings {

void stand_still() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

pybind11::object call_python(pybind11::handle callable, const pybind11::tuple& arguments,
                             const pybind11::dict& named) {
  PyObject* const result =
      call_python([&] { return PyObject_Call(callable.ptr(), arguments.ptr(), named.ptr()); });
  if (result == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(result);
}

void forget_error() {
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw pybind11::error_already_set();
  PyErr_Clear();
}

}  // namespace tilewright::bindings
