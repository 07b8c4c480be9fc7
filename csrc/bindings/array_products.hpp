#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds products of matrices of integers; namespace/linear.py has those of other dtypes.
void bind_array_products(pybind11::module_& module);

}  // namespace tilewright::bindings
