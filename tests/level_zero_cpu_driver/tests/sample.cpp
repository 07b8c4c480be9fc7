// A program without a mistake, for the loader's validation layer: it must find none either.
#include <level_zero/ze_api.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#define OK(call)                                                                   \
  do {                                                                             \
    if (const ze_result_t result = (call)) {                                       \
      std::fprintf(stderr, "line %d: %s answers 0x%x\n", __LINE__, #call, result); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (false)

int main() {
  OK(zeInit(0));
  uint32_t count = 1;
  ze_driver_handle_t driver;
  OK(zeDriverGet(&count, &driver));
  ze_device_handle_t device;
  OK(zeDeviceGet(driver, &count, &device));
  ze_device_properties_t properties{ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  OK(zeDeviceGetProperties(device, &properties));
  const ze_context_desc_t context_desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t context;
  OK(zeContextCreate(driver, &context_desc, &context));

  ze_command_queue_desc_t queue_desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  queue_desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_list_handle_t immediate;
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &immediate));
  ze_command_queue_handle_t queue;
  OK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
  const ze_command_list_desc_t list_desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_list_handle_t list;
  OK(zeCommandListCreate(context, device, &list_desc, &list));
  const ze_fence_desc_t fence_desc{ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  OK(zeFenceCreate(queue, &fence_desc, &fence));
  const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                       ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
  ze_event_pool_handle_t pool;
  OK(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
  const ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0,
                                   ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t event;
  OK(zeEventCreate(pool, &event_desc, &event));

  std::ifstream file(KERNELS, std::ios::binary);
  const std::vector<uint8_t> spirv{std::istreambuf_iterator<char>(file), {}};
  ze_module_desc_t module_desc{ZE_STRUCTURE_TYPE_MODULE_DESC};
  module_desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  module_desc.inputSize = spirv.size();
  module_desc.pInputModule = spirv.data();
  module_desc.pBuildFlags = "";
  ze_module_handle_t module;
  ze_module_build_log_handle_t log;
  OK(zeModuleCreate(context, device, &module_desc, &module, &log));
  OK(zeModuleBuildLogDestroy(log));
  ze_kernel_desc_t kernel_desc{ZE_STRUCTURE_TYPE_KERNEL_DESC};
  kernel_desc.pKernelName = "plus_one";
  ze_kernel_handle_t kernel;
  OK(zeKernelCreate(module, &kernel_desc, &kernel));

  const ze_device_mem_alloc_desc_t memory_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void* memory;
  OK(zeMemAllocDevice(context, &memory_desc, 4, 4, device, &memory));
  const int start = 40;
  const ze_group_count_t one{1, 1, 1};
  OK(zeKernelSetGroupSize(kernel, 1, 1, 1));
  OK(zeKernelSetArgumentValue(kernel, 0, sizeof(memory), &memory));
  OK(zeCommandListAppendMemoryFill(immediate, memory, &start, 4, 4, nullptr, 0, nullptr));
  OK(zeCommandListAppendBarrier(immediate, nullptr, 0, nullptr));
  OK(zeCommandListAppendLaunchKernel(immediate, kernel, &one, event, 0, nullptr));
  OK(zeEventHostSynchronize(event, UINT64_MAX));
  OK(zeCommandListAppendLaunchKernel(list, kernel, &one, nullptr, 0, nullptr));
  OK(zeCommandListClose(list));
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  OK(zeFenceHostSynchronize(fence, UINT64_MAX));
  OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
  const int result = *static_cast<int*>(memory);

  OK(zeMemFree(context, memory));
  OK(zeKernelDestroy(kernel));
  OK(zeModuleDestroy(module));
  OK(zeEventDestroy(event));
  OK(zeEventPoolDestroy(pool));
  OK(zeFenceDestroy(fence));
  OK(zeCommandListDestroy(list));
  OK(zeCommandListDestroy(immediate));
  OK(zeCommandQueueDestroy(queue));
  OK(zeContextDestroy(context));
  std::printf("%s: 40 + 1 + 1 = %d\n", properties.name, result);
  return result == 42 ? 0 : 1;
}
