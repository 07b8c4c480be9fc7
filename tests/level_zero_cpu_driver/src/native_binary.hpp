// The native form of a module: a key that says who wrote it, the SPIR-V (for the kernels'
// arguments) and what the OpenCL runtime compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirv.hpp"

namespace ze_cpu {

struct NativeBinary {
  std::vector<uint32_t> spirv;
  std::vector<uint8_t> program;
};

uint64_t fnv(const void* data, size_t size, uint64_t hash = 0xcbf29ce484222325);

std::vector<uint8_t> write_native_binary(const NativeBinary& binary);

/// Throws INVALID_NATIVE_BINARY when it is not one, is damaged, or is of another version or
/// processor.
NativeBinary read_native_binary(const uint8_t* bytes, size_t size);

}  // namespace ze_cpu
