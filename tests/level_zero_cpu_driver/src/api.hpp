// The Level Zero calls that the driver has, by their own names; tables.cpp gives them to the
// loader.
#pragma once

#include <level_zero/ze_api.h>

namespace ze_cpu {

constexpr auto kApiVersion = ze_api_version_t(ZE_MAKE_VERSION(1, 10));

namespace api {

#define ZE_CPU_CALL(name) decltype(::name) name;
ZE_CPU_CALL(zeInit)
ZE_CPU_CALL(zeDriverGet)
ZE_CPU_CALL(zeDriverGetApiVersion)
ZE_CPU_CALL(zeDriverGetProperties)
ZE_CPU_CALL(zeDriverGetExtensionProperties)
ZE_CPU_CALL(zeDriverGetExtensionFunctionAddress)
ZE_CPU_CALL(zeDeviceGet)
ZE_CPU_CALL(zeDeviceGetSubDevices)
ZE_CPU_CALL(zeDeviceGetProperties)
ZE_CPU_CALL(zeDeviceGetComputeProperties)
ZE_CPU_CALL(zeDeviceGetModuleProperties)
ZE_CPU_CALL(zeDeviceGetCommandQueueGroupProperties)
ZE_CPU_CALL(zeDeviceGetMemoryProperties)
ZE_CPU_CALL(zeDeviceGetMemoryAccessProperties)
ZE_CPU_CALL(zeDeviceGetCacheProperties)
ZE_CPU_CALL(zeDeviceGetP2PProperties)
ZE_CPU_CALL(zeDeviceCanAccessPeer)
ZE_CPU_CALL(zeDeviceGetStatus)
ZE_CPU_CALL(zeDeviceGetGlobalTimestamps)
ZE_CPU_CALL(zeContextCreate)
ZE_CPU_CALL(zeContextCreateEx)
ZE_CPU_CALL(zeContextDestroy)
ZE_CPU_CALL(zeContextGetStatus)
ZE_CPU_CALL(zeContextMakeMemoryResident)
ZE_CPU_CALL(zeContextEvictMemory)
ZE_CPU_CALL(zeCommandQueueCreate)
ZE_CPU_CALL(zeCommandQueueDestroy)
ZE_CPU_CALL(zeCommandQueueExecuteCommandLists)
ZE_CPU_CALL(zeCommandQueueSynchronize)
ZE_CPU_CALL(zeCommandListCreate)
ZE_CPU_CALL(zeCommandListCreateImmediate)
ZE_CPU_CALL(zeCommandListDestroy)
ZE_CPU_CALL(zeCommandListClose)
ZE_CPU_CALL(zeCommandListReset)
ZE_CPU_CALL(zeCommandListAppendWriteGlobalTimestamp)
ZE_CPU_CALL(zeCommandListAppendBarrier)
ZE_CPU_CALL(zeCommandListAppendMemoryRangesBarrier)
ZE_CPU_CALL(zeCommandListAppendMemoryCopy)
ZE_CPU_CALL(zeCommandListAppendMemoryFill)
ZE_CPU_CALL(zeCommandListAppendMemoryCopyRegion)
ZE_CPU_CALL(zeCommandListAppendMemoryCopyFromContext)
ZE_CPU_CALL(zeCommandListAppendMemoryPrefetch)
ZE_CPU_CALL(zeCommandListAppendMemAdvise)
ZE_CPU_CALL(zeCommandListAppendSignalEvent)
ZE_CPU_CALL(zeCommandListAppendWaitOnEvents)
ZE_CPU_CALL(zeCommandListAppendEventReset)
ZE_CPU_CALL(zeCommandListAppendQueryKernelTimestamps)
ZE_CPU_CALL(zeCommandListAppendLaunchKernel)
ZE_CPU_CALL(zeCommandListAppendLaunchKernelIndirect)
ZE_CPU_CALL(zeFenceCreate)
ZE_CPU_CALL(zeFenceDestroy)
ZE_CPU_CALL(zeFenceHostSynchronize)
ZE_CPU_CALL(zeFenceQueryStatus)
ZE_CPU_CALL(zeFenceReset)
ZE_CPU_CALL(zeEventPoolCreate)
ZE_CPU_CALL(zeEventPoolDestroy)
ZE_CPU_CALL(zeEventCreate)
ZE_CPU_CALL(zeEventDestroy)
ZE_CPU_CALL(zeEventHostSignal)
ZE_CPU_CALL(zeEventHostSynchronize)
ZE_CPU_CALL(zeEventQueryStatus)
ZE_CPU_CALL(zeEventHostReset)
ZE_CPU_CALL(zeEventQueryKernelTimestamp)
ZE_CPU_CALL(zeModuleCreate)
ZE_CPU_CALL(zeModuleDestroy)
ZE_CPU_CALL(zeModuleDynamicLink)
ZE_CPU_CALL(zeModuleGetNativeBinary)
ZE_CPU_CALL(zeModuleGetKernelNames)
ZE_CPU_CALL(zeModuleGetProperties)
ZE_CPU_CALL(zeModuleBuildLogDestroy)
ZE_CPU_CALL(zeModuleBuildLogGetString)
ZE_CPU_CALL(zeKernelCreate)
ZE_CPU_CALL(zeKernelDestroy)
ZE_CPU_CALL(zeKernelSetCacheConfig)
ZE_CPU_CALL(zeKernelSetGroupSize)
ZE_CPU_CALL(zeKernelSuggestGroupSize)
ZE_CPU_CALL(zeKernelSetArgumentValue)
ZE_CPU_CALL(zeKernelSetIndirectAccess)
ZE_CPU_CALL(zeKernelGetProperties)
ZE_CPU_CALL(zeKernelGetName)
ZE_CPU_CALL(zeMemAllocShared)
ZE_CPU_CALL(zeMemAllocDevice)
ZE_CPU_CALL(zeMemAllocHost)
ZE_CPU_CALL(zeMemFree)
ZE_CPU_CALL(zeMemGetAllocProperties)
ZE_CPU_CALL(zeMemGetAddressRange)
#undef ZE_CPU_CALL

// Newer than Debian's header.
ze_result_t zeInitDrivers(uint32_t* count, ze_driver_handle_t* drivers, void* descriptor);
ze_result_t zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char** description);
ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t* root);
ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t queue, uint32_t* ordinal);
ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t queue, uint32_t* index);
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t list, uint32_t* ordinal);
ze_result_t zeCommandListImmediateGetIndex(ze_command_list_handle_t list, uint32_t* index);
ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t* immediate);

}  // namespace api
}  // namespace ze_cpu
