#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds the exception classes and translates what the core throws into them.
void bind_errors(pybind11::module_& module);

}  // namespace tilewright::bindings
