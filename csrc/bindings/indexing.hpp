#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds gather_elements and scatter_elements to the class.
void bind_indexing(BackendClass& cls);

}  // namespace tilewright::bindings
