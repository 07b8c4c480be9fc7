#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "tilewright/kernel.hpp"

namespace tilewright::level_zero {

/// One argument of a kernel: a buffer, or a piece of the launch's parameters.
struct SpirvArgument {
  bool is_buffer;
  std::uint64_t offset = 0;  ///< of a piece
  std::uint64_t bytes = 0;
};

/// What the entry point of a SPIR-V module declares. Global and constant pointers are its buffers,
/// in their order; values, and the members of a structure that is passed by value, its parameters,
/// laid out as in C.
struct SpirvInterface {
  KernelInfo info;
  std::vector<SpirvArgument> arguments;
};

bool is_spirv(std::string_view code);

/// Reads a module, which may be any bytes. Throws KernelError naming what is wrong.
SpirvInterface interface_of(const gpu::KernelDescription& kernel);

}  // namespace tilewright::level_zero
