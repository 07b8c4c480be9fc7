#pragma once

#include <pybind11/pybind11.h>

#include "bindings/method.hpp"

namespace tilewright::bindings {

/// _matmul(a, b, transpose_a, transpose_b, alpha, beta, precision, out_dtype, out), with out_dtype
/// as NumPy's dtype or None.
pybind11::object matmul(PyObject* self, Arguments given);

}  // namespace tilewright::bindings
