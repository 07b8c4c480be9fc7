#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// Adds the private names that `tilewright tune` and tests use to watch and force the choice of
/// kernels.
void bind_choices(pybind11::module_& module);

}  // namespace tilewright::bindings
