#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds sorts in their common form; namespace/sorting.py has the others.
void bind_array_sort(pybind11::module_& module);

}  // namespace tilewright::bindings
