#pragma once

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// Adds FftPlan and the calls of a backend that make one and say what lengths it takes quickest.
void bind_fft_plan(pybind11::module_& module, BackendClass& cls);

}  // namespace tilewright::bindings
