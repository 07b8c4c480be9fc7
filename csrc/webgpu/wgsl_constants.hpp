#pragma once

#include "gpu/device.hpp"

namespace tilewright::webgpu {

/// The kernel's code with the values that are given for its overrides, each on its line. Throws
/// InvalidArgument where the code has no such override or the value is none of its type.
gpu::ExpandedText with_constants(const gpu::KernelDescription& kernel);

}  // namespace tilewright::webgpu
