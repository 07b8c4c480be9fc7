#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds Recording and the trait's call that begins one.
void bind_recording(pybind11::module_& module, BackendClass& cls);

}  // namespace tilewright::bindings
