#include "kernel.hpp"

#include <CL/cl_ext.h>

#include <algorithm>
#include <cstring>

#include "command_list.hpp"

namespace ze_cpu {
namespace {

cl_kernel make_kernel(const Module& module, const std::string& name) {
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel = opencl().clCreateKernel(module.program, name.c_str(), &error);
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "the module has no kernel ", name);
  }
  return kernel;
}

template <typename T>
T group_info(cl_kernel kernel, cl_kernel_work_group_info what) {
  T value{};
  opencl().clGetKernelWorkGroupInfo(kernel, opencl().device, what, sizeof(value), &value, nullptr);
  return value;
}

size_t sub_group_info(cl_kernel kernel, cl_kernel_sub_group_info what, const GroupSize& size) {
  size_t value = 0;
  const bool needs_size = what != CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL;
  opencl().clGetKernelSubGroupInfo(kernel, opencl().device, what, needs_size ? sizeof(size) : 0,
                                   needs_size ? &size : nullptr, sizeof(value), &value, nullptr);
  return value;
}

void require_argument_success(cl_int error, const std::string& kernel, uint32_t index,
                              size_t size) {
  if (error == CL_SUCCESS) return;
  fail(error == CL_INVALID_ARG_SIZE ? ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
                                    : ZE_RESULT_ERROR_INVALID_ARGUMENT,
       "argument ", index, " of ", kernel, " does not take ", size, " bytes (OpenCL says ", error,
       ')');
}

void require_group_count(uint32_t count, char axis) {
  if (count > Limits::kGroupCount) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, count, " groups in ", axis, "; at most ",
         Limits::kGroupCount);
  }
}

}  // namespace

Kernel::Kernel(std::shared_ptr<Module> owner, std::string kernel_name)
    : Object(kKind, {owner}),
      module(std::move(owner)),
      name(std::move(kernel_name)),
      checked_(make_kernel(*module, name)),
      running_(make_kernel(*module, name)) {
  required_ = group_info<GroupSize>(checked_, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  static_local_memory_ = group_info<cl_ulong>(checked_, CL_KERNEL_LOCAL_MEM_SIZE);
  if (required_.items() > 0) group_size_ = required_;
  for (const ArgumentKind kind : module->spirv.kernels.at(name)) arguments_.push_back({kind});
}

Kernel::~Kernel() {
  opencl().clReleaseKernel(checked_);
  opencl().clReleaseKernel(running_);
}

void Kernel::set_argument(uint32_t index, size_t size, const void* value) {
  const std::lock_guard lock(mutex_);
  if (index >= arguments_.size()) {
    fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "argument ", index, " of ", name,
         ", which has ", arguments_.size());
  }
  Argument& argument = arguments_[index];
  const OpenCL& cl = opencl();
  switch (argument.kind) {
    case ArgumentKind::pointer: {
      if (size != sizeof(void*)) {
        fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "argument ", index, " of ", name,
             " is a pointer and got ", size, " bytes");
      }
      const void* pointer = nullptr;
      if (value != nullptr) std::memcpy(&pointer, value, sizeof(pointer));
      if (pointer != nullptr && find_memory(pointer, 0, "the argument") == nullptr) {
        fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument ", index, " of ", name, " is ", pointer,
             ", which is in no allocation");
      }
      argument.pointer = pointer;
      break;
    }
    case ArgumentKind::local:
      if (value != nullptr) {
        fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument ", index, " of ", name,
             " is local memory and takes a size alone");
      }
      require_argument_success(cl.clSetKernelArg(checked_, index, size, nullptr), name, index,
                               size);
      break;
    case ArgumentKind::value:
      require_pointer(value, "pArgValue");
      require_argument_success(cl.clSetKernelArg(checked_, index, size, value), name, index, size);
      argument.value.assign(static_cast<const uint8_t*>(value),
                            static_cast<const uint8_t*>(value) + size);
      break;
  }
  argument.size = size;
  argument.is_set = true;
}

void Kernel::set_group_size(GroupSize size) {
  const std::lock_guard lock(mutex_);
  if (size.items() == 0) {
    fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "a group size of 0");
  }
  if (std::max({size.x, size.y, size.z}) > Limits::kGroupItems ||
      size.items() > Limits::kGroupItems) {
    fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "a group of ", size.x, " x ", size.y, " x ",
         size.z, " work-items; at most ", Limits::kGroupItems);
  }
  const bool differs = size.x != required_.x || size.y != required_.y || size.z != required_.z;
  if (required_.items() > 0 && differs) {
    fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, name, " requires groups of ", required_.x,
         " x ", required_.y, " x ", required_.z);
  }
  group_size_ = size;
}

void Kernel::properties(ze_kernel_properties_t& out) const {
  out.numKernelArgs = uint32_t(arguments_.size());
  out.requiredGroupSizeX = uint32_t(required_.x);
  out.requiredGroupSizeY = uint32_t(required_.y);
  out.requiredGroupSizeZ = uint32_t(required_.z);
  out.requiredNumSubGroups = 0;
  const GroupSize largest =
      required_.items() > 0 ? required_ : GroupSize{Limits::kGroupItems, 1, 1};
  out.requiredSubgroupSize =
      uint32_t(sub_group_info(checked_, CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, largest));
  out.maxSubgroupSize =
      uint32_t(sub_group_info(checked_, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, largest));
  out.maxNumSubgroups =
      uint32_t(sub_group_info(checked_, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, largest));
  out.localMemSize = uint32_t(static_local_memory_);
  out.privateMemSize = uint32_t(group_info<cl_ulong>(checked_, CL_KERNEL_PRIVATE_MEM_SIZE));
  out.spillMemSize = 0;
  std::memset(&out.uuid, 0, sizeof(out.uuid));
}

GroupSize Kernel::suggested_group_size(GroupSize global) const {
  if (required_.items() > 0) return required_;
  // The largest power of two that divides x and leaves room for several groups.
  GroupSize size{1, 1, 1};
  while (size.x < 256 && global.x % (size.x * 2) == 0) size.x *= 2;
  return size;
}

void Kernel::require_local_memory() const {
  size_t bytes = static_local_memory_;
  for (const Argument& argument : arguments_) {
    if (argument.kind == ArgumentKind::local) bytes += argument.size;
  }
  if (bytes > Limits::kLocalMemory) {
    fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, name, " uses ", bytes,
         " bytes of local memory; there are ", Limits::kLocalMemory);
  }
}

Command Kernel::launch(const ze_group_count_t* groups, bool indirect, ze_event_handle_t signal,
                       uint32_t wait_count, ze_event_handle_t* waits) {
  require_pointer(groups, "pLaunchFuncArgs");
  Command command = make_command("kernel " + name, signal, wait_count, waits);
  const std::lock_guard lock(mutex_);
  if (group_size_.items() == 0) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the group size of ", name, " was never set");
  }
  require_local_memory();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (!argument.is_set) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument ", i, " of ", name, " was never set");
    }
    if (argument.pointer == nullptr) continue;
    auto allocation = find_memory(argument.pointer, 0, "a kernel argument");
    if (allocation == nullptr) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument ", i, " of ", name, " is ", argument.pointer,
           ", which is in no allocation any more");
    }
    if (allocation->parents.front() != module->context) {
      fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument ", i, " of ", name,
           " is memory of another context");
    }
    command.use(std::move(allocation));
  }
  const std::shared_ptr<Kernel> self = shared_from_this();
  command.uses.push_back(self);
  if (indirect) {
    command.use(find_memory(groups, sizeof(*groups), "the group counts"));
    command.run = [self, groups, arguments = arguments_, local = group_size_](Worker& worker) {
      self->run(worker, arguments, local, *groups);
    };
    return command;
  }
  require_group_count(groups->groupCountX, 'x');
  require_group_count(groups->groupCountY, 'y');
  require_group_count(groups->groupCountZ, 'z');
  command.run = [self, count = *groups, arguments = arguments_, local = group_size_](
                    Worker& worker) { self->run(worker, arguments, local, count); };
  return command;
}

void Kernel::run(Worker& worker, const std::vector<Argument>& arguments, GroupSize local,
                 const ze_group_count_t& groups) {
  const OpenCL& cl = opencl();
  const size_t local_size[] = {local.x, local.y, local.z};
  const size_t global[] = {local.x * groups.groupCountX, local.y * groups.groupCountY,
                           local.z * groups.groupCountZ};
  const size_t group_count = size_t(groups.groupCountX) * groups.groupCountY * groups.groupCountZ;
  if (group_count == 0) return;
  const cl_command_queue queue = worker.opencl_queue(group_count > 1);
  cl_int error = CL_SUCCESS;
  {
    const std::lock_guard lock(run_mutex_);
    for (uint32_t i = 0; i < arguments.size() && error == CL_SUCCESS; ++i) {
      const Argument& argument = arguments[i];
      error = argument.kind == ArgumentKind::pointer
                  ? cl.clSetKernelArgSVMPointer(running_, i, argument.pointer)
                  : cl.clSetKernelArg(running_, i, argument.size,
                                      argument.value.empty() ? nullptr : argument.value.data());
    }
    if (error == CL_SUCCESS) {
      error = cl.clEnqueueNDRangeKernel(queue, running_, 3, nullptr, global, local_size, 0, nullptr,
                                        nullptr);
    }
  }
  if (error == CL_SUCCESS) error = cl.clFinish(queue);
  if (error != CL_SUCCESS) fail(ZE_RESULT_ERROR_UNKNOWN, "the OpenCL runtime failed: ", error);
}

}  // namespace ze_cpu
