#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds the array tier's ops that small work calls most: _unary, _binary, _softmax, _log_softmax
/// and _matmul, the bodies of the ops of those names in Python.
void bind_array_ops(BackendClass& cls);

}  // namespace tilewright::bindings
