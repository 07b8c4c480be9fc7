// The OpenCL runtime that does the computing, opened at run time.
#pragma once

#include <CL/cl.h>

#include <string>
#include <vector>

#include "failure.hpp"

namespace ze_cpu {

// clang-format off
#define ZE_CPU_OPENCL_FUNCTIONS(apply) \
  apply(clGetPlatformIDs) \
  apply(clGetDeviceIDs) \
  apply(clGetDeviceInfo) \
  apply(clCreateContext) \
  apply(clCreateCommandQueueWithProperties) \
  apply(clReleaseCommandQueue) \
  apply(clCreateProgramWithIL) \
  apply(clCreateProgramWithBinary) \
  apply(clCreateProgramWithSource) \
  apply(clBuildProgram) \
  apply(clCompileProgram) \
  apply(clLinkProgram) \
  apply(clGetProgramBuildInfo) \
  apply(clGetProgramInfo) \
  apply(clReleaseProgram) \
  apply(clSetProgramSpecializationConstant) \
  apply(clCreateKernel) \
  apply(clReleaseKernel) \
  apply(clSetKernelArg) \
  apply(clSetKernelArgSVMPointer) \
  apply(clGetKernelWorkGroupInfo) \
  apply(clGetKernelSubGroupInfo) \
  apply(clEnqueueNDRangeKernel) \
  apply(clFinish)
// clang-format on

/// The calls of the runtime and the one context that all Level Zero contexts share.
struct OpenCL {
#define ZE_CPU_DECLARE(name) decltype(&::name) name;
  ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_DECLARE)
#undef ZE_CPU_DECLARE

  cl_device_id device;
  cl_context context;
  std::string device_name;
  std::string driver_version;
  std::vector<uint32_t> sub_group_sizes;
  bool fp16;
  bool fp64;
  bool int64_atomics;
  bool integer_dot_product;
  uint32_t compute_units;
  uint32_t clock_mhz;
  uint64_t cache_bytes;

  /// A single value of the device.
  template <typename T>
  T info(cl_device_info what) const {
    T value{};
    clGetDeviceInfo(device, what, sizeof(value), &value, nullptr);
    return value;
  }
};

/// Opens the runtime at the first call; throws with what is missing.
const OpenCL& opencl();

}  // namespace ze_cpu
