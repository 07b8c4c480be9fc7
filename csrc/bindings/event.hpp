#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds Event and the trait's calls that make one.
void bind_events(pybind11::module_& module, BackendClass& cls);

}  // namespace tilewright::bindings
