#pragma once

#include <pybind11/pybind11.h>

#include <span>

namespace tilewright::bindings {

/// The slots of indexing for the class of Arrays.
std::span<PyType_Slot> index_slots();

/// x._view(shape, strides, offset)
PyObject* view_method(PyObject* self, PyObject* const* given, Py_ssize_t number);

}  // namespace tilewright::bindings
