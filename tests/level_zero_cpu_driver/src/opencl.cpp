#include "opencl.hpp"

#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "settings.hpp"

namespace ze_cpu {
namespace {

std::string string_info(const OpenCL& cl, cl_device_info what) {
  size_t size = 0;
  cl.clGetDeviceInfo(cl.device, what, 0, nullptr, &size);
  std::string value(size, '\0');
  cl.clGetDeviceInfo(cl.device, what, size, value.data(), nullptr);
  while (!value.empty() && value.back() == '\0') value.pop_back();
  return value;
}

void* open_library() {
  const std::string& name = settings().opencl_library;
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(ZE_RESULT_ERROR_UNINITIALIZED, "the OpenCL CPU runtime cannot be opened: ", dlerror(),
         "; ZE_CPU_OPENCL names its libintelocl.so");
  }
  return library;
}

void require_success(cl_int error, const char* what) {
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_UNINITIALIZED, "the OpenCL CPU runtime failed at ", what, " with ", error);
  }
}

void read_device(OpenCL& cl) {
  cl.device_name = string_info(cl, CL_DEVICE_NAME);
  cl.driver_version = string_info(cl, CL_DRIVER_VERSION);
  const std::string extensions = string_info(cl, CL_DEVICE_EXTENSIONS) + ' ';
  const auto has = [&](const char* name) {
    return extensions.find(std::string(name) + ' ') != std::string::npos;
  };
  cl.fp16 = has("cl_khr_fp16");
  cl.fp64 = has("cl_khr_fp64");
  cl.int64_atomics = has("cl_khr_int64_base_atomics");
  cl.integer_dot_product = has("cl_khr_integer_dot_product");
  cl.compute_units = cl.info<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  cl.clock_mhz = cl.info<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY);
  cl.cache_bytes = cl.info<cl_ulong>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  size_t sizes[16];
  size_t bytes = 0;
  cl.clGetDeviceInfo(cl.device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof(sizes), sizes, &bytes);
  cl.sub_group_sizes.assign(sizes, sizes + bytes / sizeof(size_t));
}

// The runtime's threads are not in a forked child, where its end would wait for them for ever: a
// child ends without it. Registered in the child, so that it comes before the runtime's own.
void leave_runtime_in_forked_children() {
  pthread_atfork(nullptr, nullptr, [] {
    on_exit(
        [](int status, void*) {
          std::fflush(nullptr);
          _exit(status);
        },
        nullptr);
  });
}

const OpenCL* open() {
  void* const library = open_library();
  leave_runtime_in_forked_children();
  auto* const cl = new OpenCL{};
#define ZE_CPU_LOAD(name)                                                             \
  cl->name = reinterpret_cast<decltype(cl->name)>(dlsym(library, #name));             \
  if (cl->name == nullptr) {                                                          \
    fail(ZE_RESULT_ERROR_UNINITIALIZED, settings().opencl_library, " lacks ", #name); \
  }
  ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_LOAD)
#undef ZE_CPU_LOAD
  cl_platform_id platform = nullptr;
  require_success(cl->clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  require_success(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &cl->device, nullptr),
                  "clGetDeviceIDs");
  cl_int error = CL_SUCCESS;
  cl->context = cl->clCreateContext(nullptr, 1, &cl->device, nullptr, nullptr, &error);
  require_success(error, "clCreateContext");
  read_device(*cl);
  const auto svm = cl->info<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
  if ((svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) == 0) {
    fail(ZE_RESULT_ERROR_UNINITIALIZED, cl->device_name, " cannot use plain host pointers");
  }
  return cl;
}

}  // namespace

const OpenCL& opencl() {
  static const OpenCL* const instance = open();
  return *instance;
}

}  // namespace ze_cpu
