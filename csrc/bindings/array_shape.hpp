#pragma once

#include <pybind11/pybind11.h>

// Views of all elements of an Array: other shapes, other orders of its axes.
namespace tilewright::bindings {

/// x.T and x.mT
PyObject* transposed_property(PyObject* self, void*);
PyObject* matrix_transposed_property(PyObject* self, void*);

/// x._permuted(axes)
PyObject* permuted_method(PyObject* self, PyObject* axes);

/// x._reshaped(shape)
PyObject* reshaped_method(PyObject* self, PyObject* shape);

}  // namespace tilewright::bindings
