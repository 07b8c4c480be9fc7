#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds the class Backend, its lifecycle and its memory calls.
BackendClass bind_backend(pybind11::module_& module);

/// Adds the ops of the trait, one to one.
void bind_ops(BackendClass& cls);

}  // namespace tilewright::bindings
