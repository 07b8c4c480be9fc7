#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::bindings {

/// What Python says to other libraries about bfloat16, which NumPy has no name for.
void bind_dlpack(pybind11::module_& module);

}  // namespace tilewright::bindings
