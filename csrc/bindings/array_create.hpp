#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds the creation of Arrays in its common form; namespace/creation.py has the others.
void bind_array_create(pybind11::module_& module);

}  // namespace tilewright::bindings
