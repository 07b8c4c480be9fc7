#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds what joins Arrays in the common form; namespace/manipulation.py has the others.
void bind_array_join(pybind11::module_& module);

}  // namespace tilewright::bindings
