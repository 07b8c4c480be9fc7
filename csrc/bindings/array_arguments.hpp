#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <optional>

#include "bindings/array.hpp"
#include "bindings/method.hpp"

// How the functions of Arrays that are calls in C++ read arguments in their common form. What they
// do not know they leave to Python, which words what is wrong.
namespace tilewright::bindings {

/// A dtype of Arrays: of complex ones, that of their parts.
struct ArrayDType {
  DType stored_as;
  bool is_complex = false;
  bool operator==(const ArrayDType&) const = default;
};

/// What a dtype of NumPy's, a class or a name says; none where it was never given before.
std::optional<ArrayDType> known_dtype(PyObject* given);
/// The same of real dtypes that the device has.
std::optional<DType> stored_dtype(PyObject* backend, PyObject* given);

/// What integers are counted in: int64, or int32 where the device has no int64.
DType default_integer(PyObject* backend);

/// An axis, counted from the front; none for what is none of `rank` axes.
std::optional<std::size_t> axis_in(PyObject* given, std::size_t rank);
/// An int of Python's that 64 bits hold.
std::optional<Size> integer_in(PyObject* given);

/// x._same_floats(*others): whether all are Arrays of one class, of floats of one dtype on one
/// backend.
PyObject* same_floats_method(PyObject* self, PyObject* const* others, Py_ssize_t count);

/// A function of Python's own kind that takes `count` arguments by position.
template <std::size_t count, pybind11::object (*function)(Arguments given)>
PyMethodDef fast_function(const char* name, const char* doc) {
  constexpr auto call = [](PyObject*, PyObject* const* given, Py_ssize_t number) -> PyObject* {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
      if (number != static_cast<Py_ssize_t>(count)) {
        throw pybind11::type_error("expected " + std::to_string(count) + " arguments");
      }
      return function({given, count}).release().ptr();
    });
  };
  PyObject* (*const pointer)(PyObject*, PyObject* const*, Py_ssize_t) = call;
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(pointer)), METH_FASTCALL,
          doc};
}
/// Adds it to a module; `definition` lives as long as the process.
void add_function(pybind11::module_& module, PyMethodDef& definition);

/// Adds what tells which dtypes names stand for.
void bind_array_arguments(pybind11::module_& module);

}  // namespace tilewright::bindings
