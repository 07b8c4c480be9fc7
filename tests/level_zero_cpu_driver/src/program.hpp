// Programs of the OpenCL runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opencl.hpp"

namespace ze_cpu {

using Program = std::unique_ptr<_cl_program, cl_int (*)(cl_program)>;

inline Program owned(cl_program program, cl_int error) {
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the OpenCL runtime refuses the module: ", error);
  }
  return Program(program, opencl().clReleaseProgram);
}

inline Program with_binary(const std::vector<uint8_t>& binary) {
  const OpenCL& cl = opencl();
  const unsigned char* const bytes = binary.data();
  const size_t size = binary.size();
  cl_int error = CL_SUCCESS;
  const cl_program made = cl.clCreateProgramWithBinary(
      cl.context, 1, &cl.device, &size, const_cast<const unsigned char**>(&bytes), nullptr, &error);
  return owned(made, error);
}

/// What the runtime has compiled.
inline std::vector<uint8_t> binary_of(cl_program program) {
  const OpenCL& cl = opencl();
  size_t size = 0;
  cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr);
  std::vector<uint8_t> binary(size);
  unsigned char* bytes = binary.data();
  cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr);
  return binary;
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
