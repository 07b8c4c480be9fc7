// The tables that the loader asks for: each entry in its place, with the version that brought it.
#include <level_zero/ze_ddi.h>

#include <cstring>
#include <iterator>

#include "api.hpp"
#include "entry.hpp"

namespace ze_cpu {
namespace {

using Call = void (*)();

struct Slot {
  uint32_t minor;
  Call call;
};

template <CallName kName, auto kFunction>
Call supported() {
  return reinterpret_cast<Call>(&Entry<kName, kFunction>::call);
}

template <CallName kName>
Call missing() {
  return reinterpret_cast<Call>(&unsupported<kName>);
}

#define HAS(minor, name) {minor, supported<#name, &api::name>()}
#define LACKS(minor, name) {minor, missing<#name>()}

const Slot kGlobal[] = {
    HAS(0, zeInit),
    HAS(10, zeInitDrivers),
};

const Slot kDriver[] = {
    HAS(0, zeDriverGet),
    HAS(0, zeDriverGetApiVersion),
    HAS(0, zeDriverGetProperties),
    LACKS(0, zeDriverGetIpcProperties),
    HAS(0, zeDriverGetExtensionProperties),
    HAS(1, zeDriverGetExtensionFunctionAddress),
    HAS(6, zeDriverGetLastErrorDescription),
};

const Slot kDevice[] = {
    HAS(0, zeDeviceGet),
    HAS(0, zeDeviceGetSubDevices),
    HAS(0, zeDeviceGetProperties),
    HAS(0, zeDeviceGetComputeProperties),
    HAS(0, zeDeviceGetModuleProperties),
    HAS(0, zeDeviceGetCommandQueueGroupProperties),
    HAS(0, zeDeviceGetMemoryProperties),
    HAS(0, zeDeviceGetMemoryAccessProperties),
    HAS(0, zeDeviceGetCacheProperties),
    LACKS(0, zeDeviceGetImageProperties),
    LACKS(0, zeDeviceGetExternalMemoryProperties),
    HAS(0, zeDeviceGetP2PProperties),
    HAS(0, zeDeviceCanAccessPeer),
    HAS(0, zeDeviceGetStatus),
    HAS(1, zeDeviceGetGlobalTimestamps),
    LACKS(2, zeDeviceReserveCacheExt),
    LACKS(2, zeDeviceSetCacheAdviceExt),
    LACKS(3, zeDevicePciGetPropertiesExt),
    HAS(7, zeDeviceGetRootDevice),
};

const Slot kContext[] = {
    HAS(0, zeContextCreate),
    HAS(0, zeContextDestroy),
    HAS(0, zeContextGetStatus),
    LACKS(0, zeContextSystemBarrier),
    HAS(0, zeContextMakeMemoryResident),
    HAS(0, zeContextEvictMemory),
    LACKS(0, zeContextMakeImageResident),
    LACKS(0, zeContextEvictImage),
    HAS(1, zeContextCreateEx),
};

const Slot kCommandQueue[] = {
    HAS(0, zeCommandQueueCreate),
    HAS(0, zeCommandQueueDestroy),
    HAS(0, zeCommandQueueExecuteCommandLists),
    HAS(0, zeCommandQueueSynchronize),
    HAS(9, zeCommandQueueGetOrdinal),
    HAS(9, zeCommandQueueGetIndex),
};

const Slot kCommandList[] = {
    HAS(0, zeCommandListCreate),
    HAS(0, zeCommandListCreateImmediate),
    HAS(0, zeCommandListDestroy),
    HAS(0, zeCommandListClose),
    HAS(0, zeCommandListReset),
    HAS(0, zeCommandListAppendWriteGlobalTimestamp),
    HAS(0, zeCommandListAppendBarrier),
    HAS(0, zeCommandListAppendMemoryRangesBarrier),
    HAS(0, zeCommandListAppendMemoryCopy),
    HAS(0, zeCommandListAppendMemoryFill),
    HAS(0, zeCommandListAppendMemoryCopyRegion),
    HAS(0, zeCommandListAppendMemoryCopyFromContext),
    LACKS(0, zeCommandListAppendImageCopy),
    LACKS(0, zeCommandListAppendImageCopyRegion),
    LACKS(0, zeCommandListAppendImageCopyToMemory),
    LACKS(0, zeCommandListAppendImageCopyFromMemory),
    HAS(0, zeCommandListAppendMemoryPrefetch),
    HAS(0, zeCommandListAppendMemAdvise),
    HAS(0, zeCommandListAppendSignalEvent),
    HAS(0, zeCommandListAppendWaitOnEvents),
    HAS(0, zeCommandListAppendEventReset),
    HAS(0, zeCommandListAppendQueryKernelTimestamps),
    HAS(0, zeCommandListAppendLaunchKernel),
    LACKS(0, zeCommandListAppendLaunchCooperativeKernel),
    HAS(0, zeCommandListAppendLaunchKernelIndirect),
    LACKS(0, zeCommandListAppendLaunchMultipleKernelsIndirect),
    LACKS(3, zeCommandListAppendImageCopyToMemoryExt),
    LACKS(3, zeCommandListAppendImageCopyFromMemoryExt),
    HAS(6, zeCommandListHostSynchronize),
    LACKS(9, zeCommandListGetDeviceHandle),
    LACKS(9, zeCommandListGetContextHandle),
    HAS(9, zeCommandListGetOrdinal),
    HAS(9, zeCommandListImmediateGetIndex),
    HAS(9, zeCommandListIsImmediate),
};

const Slot kImage[] = {
    LACKS(0, zeImageGetProperties), LACKS(0, zeImageCreate),
    LACKS(0, zeImageDestroy),       LACKS(3, zeImageGetAllocPropertiesExt),
    LACKS(5, zeImageViewCreateExt),
};

const Slot kFence[] = {
    HAS(0, zeFenceCreate),      HAS(0, zeFenceDestroy), HAS(0, zeFenceHostSynchronize),
    HAS(0, zeFenceQueryStatus), HAS(0, zeFenceReset),
};

const Slot kEventPool[] = {
    HAS(0, zeEventPoolCreate),
    HAS(0, zeEventPoolDestroy),
    LACKS(0, zeEventPoolGetIpcHandle),
    LACKS(0, zeEventPoolOpenIpcHandle),
    LACKS(0, zeEventPoolCloseIpcHandle),
    LACKS(6, zeEventPoolPutIpcHandle),
    LACKS(9, zeEventPoolGetContextHandle),
    LACKS(9, zeEventPoolGetFlags),
};

const Slot kEvent[] = {
    HAS(0, zeEventCreate),
    HAS(0, zeEventDestroy),
    HAS(0, zeEventHostSignal),
    HAS(0, zeEventHostSynchronize),
    HAS(0, zeEventQueryStatus),
    HAS(0, zeEventHostReset),
    HAS(0, zeEventQueryKernelTimestamp),
    LACKS(6, zeEventQueryKernelTimestampsExt),
    LACKS(9, zeEventGetEventPool),
    LACKS(9, zeEventGetSignalScope),
    LACKS(9, zeEventGetWaitScope),
};

const Slot kModule[] = {
    HAS(0, zeModuleCreate),
    HAS(0, zeModuleDestroy),
    HAS(0, zeModuleDynamicLink),
    HAS(0, zeModuleGetNativeBinary),
    LACKS(0, zeModuleGetGlobalPointer),
    HAS(0, zeModuleGetKernelNames),
    HAS(0, zeModuleGetProperties),
    LACKS(0, zeModuleGetFunctionPointer),
    LACKS(3, zeModuleInspectLinkageExt),
};

const Slot kModuleBuildLog[] = {
    HAS(0, zeModuleBuildLogDestroy),
    HAS(0, zeModuleBuildLogGetString),
};

const Slot kKernel[] = {
    HAS(0, zeKernelCreate),
    HAS(0, zeKernelDestroy),
    HAS(0, zeKernelSetCacheConfig),
    HAS(0, zeKernelSetGroupSize),
    HAS(0, zeKernelSuggestGroupSize),
    LACKS(0, zeKernelSuggestMaxCooperativeGroupCount),
    HAS(0, zeKernelSetArgumentValue),
    HAS(0, zeKernelSetIndirectAccess),
    LACKS(0, zeKernelGetIndirectAccess),
    LACKS(0, zeKernelGetSourceAttributes),
    HAS(0, zeKernelGetProperties),
    HAS(0, zeKernelGetName),
};

const Slot kSampler[] = {
    LACKS(0, zeSamplerCreate),
    LACKS(0, zeSamplerDestroy),
};

const Slot kPhysicalMem[] = {
    LACKS(0, zePhysicalMemCreate),
    LACKS(0, zePhysicalMemDestroy),
};

const Slot kMem[] = {
    HAS(0, zeMemAllocShared),    HAS(0, zeMemAllocDevice),        HAS(0, zeMemAllocHost),
    HAS(0, zeMemFree),           HAS(0, zeMemGetAllocProperties), HAS(0, zeMemGetAddressRange),
    LACKS(0, zeMemGetIpcHandle), LACKS(0, zeMemOpenIpcHandle),    LACKS(0, zeMemCloseIpcHandle),
    LACKS(3, zeMemFreeExt),      LACKS(6, zeMemPutIpcHandle),     LACKS(9, zeMemGetPitchFor2dImage),
};

const Slot kVirtualMem[] = {
    LACKS(0, zeVirtualMemReserve),
    LACKS(0, zeVirtualMemFree),
    LACKS(0, zeVirtualMemQueryPageSize),
    LACKS(0, zeVirtualMemMap),
    LACKS(0, zeVirtualMemUnmap),
    LACKS(0, zeVirtualMemSetAccessAttribute),
    LACKS(0, zeVirtualMemGetAccessAttribute),
};

#undef HAS
#undef LACKS

/// Writes the entries that the loader's version knows, and no byte more.
template <size_t N, typename Table>
ze_result_t give(const Slot (&slots)[N], ze_api_version_t version, Table* table) {
  if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(version) != ZE_MAJOR_VERSION(kApiVersion)) {
    return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  }
  char* entry = reinterpret_cast<char*>(table);
  for (const Slot& slot : slots) {
    if (slot.minor > ZE_MINOR_VERSION(version)) break;
    std::memcpy(entry, &slot.call, sizeof(slot.call));
    entry += sizeof(slot.call);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace ze_cpu

#define ZE_CPU_TABLE(name, table)                                                           \
  extern "C" __attribute__((visibility("default"))) ze_result_t zeGet##name##ProcAddrTable( \
      ze_api_version_t version, table* out) {                                               \
    return ze_cpu::give(ze_cpu::k##name, version, out);                                     \
  }
ZE_CPU_TABLE(Global, ze_global_dditable_t)
ZE_CPU_TABLE(Driver, ze_driver_dditable_t)
ZE_CPU_TABLE(Device, ze_device_dditable_t)
ZE_CPU_TABLE(Context, ze_context_dditable_t)
ZE_CPU_TABLE(CommandQueue, ze_command_queue_dditable_t)
ZE_CPU_TABLE(CommandList, ze_command_list_dditable_t)
ZE_CPU_TABLE(Image, ze_image_dditable_t)
ZE_CPU_TABLE(Fence, ze_fence_dditable_t)
ZE_CPU_TABLE(EventPool, ze_event_pool_dditable_t)
ZE_CPU_TABLE(Event, ze_event_dditable_t)
ZE_CPU_TABLE(Module, ze_module_dditable_t)
ZE_CPU_TABLE(ModuleBuildLog, ze_module_build_log_dditable_t)
ZE_CPU_TABLE(Kernel, ze_kernel_dditable_t)
ZE_CPU_TABLE(Sampler, ze_sampler_dditable_t)
ZE_CPU_TABLE(PhysicalMem, ze_physical_mem_dditable_t)
ZE_CPU_TABLE(Mem, ze_mem_dditable_t)
ZE_CPU_TABLE(VirtualMem, ze_virtual_mem_dditable_t)
#undef ZE_CPU_TABLE

// The loader gives up without these; the driver has nothing to put into them.
#define ZE_CPU_EMPTY_TABLE(name)                                                                \
  extern "C" __attribute__((visibility("default"))) ze_result_t name(ze_api_version_t, void*) { \
    return ZE_RESULT_SUCCESS;                                                                   \
  }
ZE_CPU_EMPTY_TABLE(zetGetDeviceProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetContextProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetCommandListProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetModuleProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetKernelProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricGroupProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricGroupExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricStreamerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetMetricQueryProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetTracerExpProcAddrTable)
ZE_CPU_EMPTY_TABLE(zetGetDebugProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDriverProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDeviceProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetSchedulerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPowerProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFrequencyProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetEngineProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetStandbyProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFirmwareProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetMemoryProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFabricPortProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetTemperatureProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetPsuProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetFanProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetLedProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetRasProcAddrTable)
ZE_CPU_EMPTY_TABLE(zesGetDiagnosticsProcAddrTable)
#undef ZE_CPU_EMPTY_TABLE
