#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/template.hpp"

namespace tilewright::gpu {

/// How a variable of a plan reaches a kernel of csrc/kernels/opencl.
enum class VariableRole : std::uint8_t { choice, constant, ignored };

struct KernelVariable {
  std::string_view name;
  VariableRole role;
  std::vector<std::string_view> values;  ///< of a choice, or of a constant that is a word
};

/// A kernel compiled at build time for each combination of the values of its choices, the last
/// choice quickest; those that were left out are empty. Constants are numbered from 0; one that is
/// a word is its place among the values.
struct SpirvKernel {
  std::string_view name;
  std::string_view digest;  ///< of all its modules
  std::span<const KernelVariable> variables;
  std::span<const std::span<const std::uint32_t>> modules;
};

std::span<const SpirvKernel> embedded_spirv_kernels();

/// The module of a kernel for these variables, with those specialization constants that it reads.
/// Variable SUBGROUP is a wish: where a kernel has no such form, it is the one without. Throws
/// KernelError.
KernelDescription spirv_kernel(std::string_view name, const TemplateVariables& variables);

/// Tells these kernels from others.
std::string spirv_kernels_fingerprint();

}  // namespace tilewright::gpu
