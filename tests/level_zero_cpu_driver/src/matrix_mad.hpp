// DPAS: the built-ins of Intel's compiler for matrix units, which the OpenCL runtime lacks.
#pragma once

#include <string>

#include "program.hpp"
#include "spirv.hpp"

namespace ze_cpu {

bool imports_matrix_mad(const SpirvModule& spirv);

/// The program of such a module, not built yet, linked with the built-ins; its log goes into `log`.
Program with_matrix_mad(Program program, const std::string& options, std::string& log);

}  // namespace ze_cpu
