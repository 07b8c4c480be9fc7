#pragma once

#include <pybind11/pybind11.h>

#include "bindings/array.hpp"
#include "bindings/method.hpp"

namespace tilewright::bindings {

/// _matmul(a, b, transpose_a, transpose_b, alpha, beta, precision, out_dtype, out), with out_dtype
/// as NumPy's dtype or None.
pybind11::object matmul(PyObject* self, Arguments given);
/// a @ b of one backend, both float32 or both float16.
pybind11::object matmul(const ArrayObject& a, const ArrayObject& b);

}  // namespace tilewright::bindings
