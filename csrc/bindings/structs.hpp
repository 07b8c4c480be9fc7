#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds what the backend reports of itself: read-only objects that print their attributes.
void bind_structs(pybind11::module_& module);

}  // namespace tilewright::bindings
