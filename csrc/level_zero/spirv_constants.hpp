#pragma once

#include <string>

#include "gpu/device.hpp"

namespace tilewright::level_zero {

/// The kernel's module with the values that are given for its specialization constants in place of
/// their own. Throws InvalidArgument where the module has no such constant or the value is none of
/// its type, and KernelError for what is no module.
std::string with_constants(const gpu::KernelDescription& kernel);

}  // namespace tilewright::level_zero
