#include "bindings/array_create.hpp"

#include <optional>

#include "bindings/array_elementwise.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/method.hpp"
#include "bindings/self.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

bool is_size(PyObject* given) {
  if (!PyLong_CheckExact(given)) return false;
  int overflow = 0;
  return PyLong_AsLongLongAndOverflow(given, &overflow) >= 0 && overflow == 0;
}

/// A tuple of sizes; none for what is to be looked at more closely.
py::object shape_of(PyObject* given) {
  if (is_size(given)) return py::make_tuple(py::handle(given));
  if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) > static_cast<Py_ssize_t>(max_rank))
    return {};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    if (!is_size(PyTuple_GET_ITEM(given, i))) return {};
  }
  return py::reinterpret_borrow<py::object>(given);
}

std::optional<DType> known_dtype(PyObject* given) {
  if (given == Py_None) return default_float;
  for (std::size_t i = 0; i < EnumNames<DType>::values.size(); ++i) {
    if (given == numpy_dtype(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_held(PyObject* value, DType dtype) {
  if (value == Py_None) return true;
  if (PyFloat_CheckExact(value)) return is_float(dtype);
  if (!PyLong_CheckExact(value)) return false;
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return false;
  return is_integer(dtype) ? holds(dtype, whole, 0) : whole == 0 || whole == 1 || is_float(dtype);
}

/// _filled(backend, shape, dtype, value)
PyObject* filled(PyObject*, PyObject* const* given, Py_ssize_t number) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    if (number != 4) throw py::type_error("expected a backend, a shape, a dtype and a value");
    PyObject *const backend = given[0], *const value = given[3];
    const std::optional<DType> dtype = known_dtype(given[2]);
    if (!dtype || holder_of<Backend>(backend) == nullptr || !is_held(value, *dtype)) {
      return Py_NewRef(Py_None);
    }
    const py::object shape = shape_of(given[1]);
    if (!shape || !stores(backend, *dtype)) return Py_NewRef(Py_None);
    py::object array = new_array(backend, shape, *dtype);
    if (value != Py_None && array_in(array)->size != 0) assign(*array_in(array), value);
    return array.release().ptr();
  });
}

PyMethodDef function = {
    "_filled", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(filled)), METH_FASTCALL,
    "_filled(backend: object, shape: object, dtype: object, value: object) -> Array | None\n\nAn "
    "Array with one value everywhere, or undefined contents for None; float32 for the dtype None. "
    "None where an argument is not of the common kind, or wrong."};

}  // namespace

void bind_array_create(py::module_& m) {
  m.attr("_filled") =
      py::reinterpret_steal<py::object>(PyCFunction_NewEx(&function, nullptr, nullptr));
}

}  // namespace tilewright::bindings
