#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds _kept_function(), which makes of a function of Arrays one whose calls go without Python
/// once one of their form was noted.
void bind_kept_function(pybind11::module_& module);

}  // namespace tilewright::bindings
