#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "webgpu/wgsl_text.hpp"

namespace tilewright::webgpu {

/// What the host has to know of a kernel.
struct WgslInterface {
  KernelInfo info;
  int params_line = 0;
  /// Why the parameters cannot be in a uniform buffer; empty where they can.
  std::string uniform_obstacle;
};

/// Reads it from a text that the compiler has taken. Throws KernelError, with the line, where the
/// module binds what this library does not: it takes storage buffers, all in group 0 and numbered
/// from 0 on, and parameters in one immediate.
WgslInterface interface_of(const gpu::KernelDescription& kernel, const std::vector<Token>& tokens);

}  // namespace tilewright::webgpu
