#pragma once

#include <pybind11/pybind11.h>

// The shape of an Array, and views of all of its elements: other shapes, other orders of its axes.
namespace tilewright::bindings {

PyObject* ndim_property(PyObject* self, void*);
PyObject* itemsize_property(PyObject* self, void*);
PyObject* nbytes_property(PyObject* self, void*);

/// x.T and x.mT
PyObject* transposed_property(PyObject* self, void*);
PyObject* matrix_transposed_property(PyObject* self, void*);

/// x._permuted(axes)
PyObject* permuted_method(PyObject* self, PyObject* axes);

/// x._broadcast(shape)
PyObject* broadcast_method(PyObject* self, PyObject* shape);

/// x._reshaped(shape)
PyObject* reshaped_method(PyObject* self, PyObject* shape);

}  // namespace tilewright::bindings
