#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/template.hpp"

namespace tilewright::gpu {

/// How a variable of a plan reaches a kernel in SPIR-V.
enum class VariableRole : std::uint8_t { choice, constant, ignored };

struct KernelVariable {
  std::string_view name;
  VariableRole role;
  std::span<const std::string_view> values;  ///< of a choice, or of a constant that is a word
};

/// Where a module lies among those of its kernel, in words.
struct SpirvPlace {
  std::uint32_t first;
  std::uint32_t count;  ///< 0: left out
};

/// A kernel compiled at build time for each combination of the values of its choices, the last
/// choice quickest; those that were left out are empty. Constants are numbered from 0; one that is
/// a word is its place among the values.
struct SpirvKernel {
  std::string_view name;
  std::string_view digest;  ///< of all its modules
  std::span<const KernelVariable> variables;
  std::span<const SpirvPlace> modules;
  std::span<const std::byte> packed;  ///< by cmake/spirv_packing.py
};

std::span<const SpirvKernel> embedded_spirv_kernels();

/// The module of a kernel for these variables, with those specialization constants that it reads.
/// Variable SUBGROUP is a wish: where a kernel has no such form, it is the one without. Throws
/// KernelError.
KernelDescription spirv_kernel(std::string_view name, const TemplateVariables& variables);

/// The module of a file of functions, which is no kernel; it stays. Throws KernelError.
std::span<const std::uint32_t> spirv_functions(std::string_view name);

/// Tells these kernels from others.
std::string spirv_kernels_fingerprint();

}  // namespace tilewright::gpu
