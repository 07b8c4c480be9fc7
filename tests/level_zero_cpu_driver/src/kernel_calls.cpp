// The calls on kernels, and those that launch them.
#include <cstdlib>
#include <cstring>

#include "api.hpp"
#include "command_list.hpp"
#include "kernel.hpp"

namespace ze_cpu {
namespace {

std::shared_ptr<CommandList> list_for_kernels(ze_command_list_handle_t handle) {
  auto list = find<CommandList>(handle);
  if (!queue_group(list->ordinal, 0).compute) {
    fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
         "a kernel is appended to a command list of a queue group for copies");
  }
  return list;
}

void launch(ze_command_list_handle_t list_handle, ze_kernel_handle_t kernel_handle,
            const ze_group_count_t* groups, bool indirect, ze_event_handle_t signal,
            uint32_t wait_count, ze_event_handle_t* waits) {
  const auto list = list_for_kernels(list_handle);
  const auto kernel = find<Kernel>(kernel_handle);
  if (kernel->module->context != list->context) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "kernel ", kernel->name,
         " and the command list are of different contexts");
  }
  list->append(kernel->launch(groups, indirect, signal, wait_count, waits));
}

}  // namespace

namespace api {

ze_result_t zeKernelCreate(ze_module_handle_t handle, const ze_kernel_desc_t* desc,
                           ze_kernel_handle_t* kernel) {
  const auto module = find<Module>(handle);
  require_descriptor(desc, ZE_STRUCTURE_TYPE_KERNEL_DESC, "desc");
  require_pointer(desc->pKernelName, "desc->pKernelName");
  require_pointer(kernel, "phKernel");
  if (module->spirv.kernels.count(desc->pKernelName) == 0) {
    fail(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "the module has no kernel ", desc->pKernelName);
  }
  *kernel = publish(std::make_shared<Kernel>(module, desc->pKernelName));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelDestroy(ze_kernel_handle_t kernel) {
  destroy<Kernel>(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t size,
                                     const void* value) {
  find<Kernel>(kernel)->set_argument(index, size, value);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  find<Kernel>(kernel)->set_group_size({x, y, z});
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t global_x,
                                     uint32_t global_y, uint32_t global_z, uint32_t* x, uint32_t* y,
                                     uint32_t* z) {
  const auto found = find<Kernel>(kernel);
  require_pointer(x, "groupSizeX");
  require_pointer(y, "groupSizeY");
  require_pointer(z, "groupSizeZ");
  if (global_x == 0 || global_y == 0 || global_z == 0) {
    fail(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "a global size of 0");
  }
  const GroupSize size = found->suggested_group_size({global_x, global_y, global_z});
  *x = uint32_t(size.x);
  *y = uint32_t(size.y);
  *z = uint32_t(size.z);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetProperties(ze_kernel_handle_t kernel, ze_kernel_properties_t* properties) {
  const auto found = find<Kernel>(kernel);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, "pKernelProperties");
  found->properties(*properties);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetName(ze_kernel_handle_t kernel, size_t* size, char* name) {
  const auto found = find<Kernel>(kernel);
  require_pointer(size, "pSize");
  const size_t needed = found->name.size() + 1;
  if (name != nullptr) {
    if (*size < needed) fail(ZE_RESULT_ERROR_INVALID_SIZE, "the name needs ", needed, " bytes");
    std::memcpy(name, found->name.c_str(), needed);
  }
  *size = needed;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetIndirectAccess(ze_kernel_handle_t kernel,
                                      ze_kernel_indirect_access_flags_t) {
  find<Kernel>(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetCacheConfig(ze_kernel_handle_t kernel, ze_cache_config_flags_t) {
  find<Kernel>(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
                                            ze_kernel_handle_t kernel,
                                            const ze_group_count_t* groups,
                                            ze_event_handle_t signal, uint32_t wait_count,
                                            ze_event_handle_t* waits) {
  launch(list, kernel, groups, false, signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list,
                                                    ze_kernel_handle_t kernel,
                                                    const ze_group_count_t* groups,
                                                    ze_event_handle_t signal, uint32_t wait_count,
                                                    ze_event_handle_t* waits) {
  launch(list, kernel, groups, true, signal, wait_count, waits);
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
