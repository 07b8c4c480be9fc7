#pragma once

#include "bindings/backend.hpp"

namespace tilewright::bindings {

/// Adds the class of programs, and Backend.map.
void bind_program(pybind11::module_& module, BackendClass& cls);

}  // namespace tilewright::bindings
