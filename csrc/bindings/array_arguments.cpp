#include "bindings/array_arguments.hpp"

#include <span>

#include "bindings/array_elementwise.hpp"
#include "bindings/python_call.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// Python's, for the process: what was given for dtypes before, and NumPy's dtype of each.
PyObject* names = nullptr;

std::optional<ArrayDType> numpy_one(PyObject* dtype) {
  for (std::size_t i = 0; i < EnumNames<DType>::values.size(); ++i) {
    if (dtype == numpy_dtype(static_cast<DType>(i))) return ArrayDType{static_cast<DType>(i)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ArrayDType> known_dtype(PyObject* given) {
  if (const auto found = numpy_one(given)) return found;
  if (names == nullptr) return std::nullopt;
  PyObject* dtype = given;
  if (PyUnicode_CheckExact(given) || PyType_Check(given)) {
    dtype = PyDict_GetItemWithError(names, given);
    if (dtype == nullptr) {
      if (PyErr_Occurred() != nullptr) forget_error();
      return std::nullopt;
    }
    if (const auto found = numpy_one(dtype)) return found;
  }
  if (const std::optional<DType> parts = parts_of(dtype)) return ArrayDType{*parts, true};
  return std::nullopt;
}

std::optional<DType> stored_dtype(PyObject* backend, PyObject* given) {
  const auto found = known_dtype(given);
  if (!found || found->is_complex || !stores(backend, found->stored_as)) return std::nullopt;
  return found->stored_as;
}

DType default_integer(PyObject* backend) {
  return stores(backend, DType::int64) ? DType::int64 : DType::int32;
}

std::optional<Size> integer_in(PyObject* given) {
  if (!PyLong_CheckExact(given)) return std::nullopt;
  int overflow = 0;
  const Size value = PyLong_AsLongLongAndOverflow(given, &overflow);
  return overflow == 0 ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> axis_in(PyObject* given, std::size_t rank) {
  const std::optional<Size> at = integer_in(given);
  const auto axes = static_cast<Size>(rank);
  if (!at || *at < -axes || *at >= axes) return std::nullopt;
  return static_cast<std::size_t>(*at < 0 ? *at + axes : *at);
}

PyObject* same_floats_method(PyObject* self, PyObject* const* others, Py_ssize_t count) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    const ArrayObject& array = made(self);
    bool same = !array.is_complex && is_float(array.stored_as);
    for (PyObject* const one : std::span(others, static_cast<std::size_t>(count))) {
      const ArrayObject* const other = array_in(one);
      same = same && other != nullptr && Py_TYPE(one) == Py_TYPE(self) &&
             other->stored_as == array.stored_as && other->backend == array.backend;
    }
    return PyBool_FromLong(same ? 1 : 0);
  });
}

void add_function(py::module_& m, PyMethodDef& definition) {
  m.attr(definition.ml_name) =
      py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, nullptr, nullptr));
}

void bind_array_arguments(py::module_& m) {
  m.def(
      "_set_dtype_names", [](const py::dict& known) { names = py::dict(known).release().ptr(); },
      py::arg("known"), "What was given for dtypes before, which Python adds to.");
}

}  // namespace tilewright::bindings
