#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>
#include <utility>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

// Methods of CPython's own calling convention, for what the array tier calls in every op: pybind11
// takes longer to sort arguments than such an op takes.
namespace tilewright::bindings {

/// f(), or `failed` with the exception that it ended with set in Python.
template <class R, class F>
auto guarded(R failed, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (pybind11::error_already_set& error) {
    error.restore();
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind&) {
    throw;
#endif
  } catch (...) {
    pybind11::detail::try_translate_exceptions();
  }
  return failed;
}

using Arguments = std::span<PyObject* const>;

/// `function` as a method that takes exactly `count` arguments, by position.
template <std::size_t count, pybind11::object (*function)(PyObject* self, Arguments given)>
PyObject* fast_method(PyObject* self, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != static_cast<Py_ssize_t>(count)) {
      throw pybind11::type_error("expected " + std::to_string(count) + " arguments");
    }
    return function(self, {given, count}).release().ptr();
  });
}

/// Adds a method to a class; `definition` lives as long as the process.
inline void add_method(pybind11::handle cls, PyMethodDef& definition) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  const auto method =
      pybind11::reinterpret_steal<pybind11::object>(PyDescr_NewMethod(type, &definition));
  if (!method) throw pybind11::error_already_set();
  pybind11::setattr(cls, definition.ml_name, method);
}

}  // namespace tilewright::bindings
