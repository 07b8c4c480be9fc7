// Programs of the OpenCL runtime.
#pragma once

#include <memory>
#include <string>

#include "opencl.hpp"

namespace ze_cpu {

using Program = std::unique_ptr<_cl_program, cl_int (*)(cl_program)>;

inline Program owned(cl_program program, cl_int error) {
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the OpenCL runtime refuses the module: ", error);
  }
  return Program(program, opencl().clReleaseProgram);
}

inline std::string build_log(cl_program program) {
  const OpenCL& cl = opencl();
  size_t size = 0;
  cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

}  // namespace ze_cpu
