#pragma once

#include <vector>

#include "webgpu/wgsl_declarations.hpp"

namespace tilewright::webgpu {

/// Throws KernelError for text that grows far beyond itself as it is compiled, which would take
/// the compiler without end or all memory: functions that are called in functions, values that
/// hold values, and large values as a whole. What is written once and is as large is bounded too.
void check_growth(const gpu::ExpandedText& code, const std::vector<Token>& tokens,
                  const Declarations& module);

}  // namespace tilewright::webgpu
