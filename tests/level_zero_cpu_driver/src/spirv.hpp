// What the driver has to know of a SPIR-V module that the OpenCL runtime does not tell.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ze_cpu {

enum class ArgumentKind { value, pointer, local };

struct SpirvModule {
  std::vector<uint32_t> words;
  /// The arguments of each kernel by its name.
  std::map<std::string, std::vector<ArgumentKind>> kernels;
  /// The bytes of each specialization constant by its id.
  std::map<uint32_t, uint32_t> constants;
  /// Names of functions that it takes from elsewhere.
  std::vector<std::string> imports;
};

/// Reads and checks a module; throws MODULE_BUILD_FAILURE with what the validator says, because the
/// OpenCL runtime ends the process over some modules that are not valid.
SpirvModule read_spirv(const uint8_t* bytes, size_t size);

}  // namespace ze_cpu
