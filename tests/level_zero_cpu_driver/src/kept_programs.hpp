// Built programs in the folder ZE_CPU_PROGRAMS, which later processes take instead of compiling.
#pragma once

#include <level_zero/ze_api.h>

#include <string>

#include "program.hpp"
#include "spirv.hpp"

namespace ze_cpu {

/// The place of one program: its SPIR-V, the values of its constants and OpenCL's options.
class KeptProgram {
 public:
  KeptProgram(const SpirvModule& spirv, const ze_module_constants_t* constants,
              const std::string& options);

  /// The program, built; null where it was not kept or the file is not whole.
  Program take() const;
  void keep(cl_program program) const;

 private:
  const SpirvModule& spirv_;
  std::string options_;
  std::string path_;  ///< empty without a folder
};

}  // namespace ze_cpu
