#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds the reductions of Arrays in their common form; namespace/reductions.py has the others.
void bind_array_reduce(pybind11::module_& module);

}  // namespace tilewright::bindings
