#pragma once

#include <string>

#include "level_zero/abi.hpp"

namespace tilewright::level_zero {

/// The calls of the Level Zero loader that are used, without their prefix "ze": all of them of its
/// first version.
// clang-format off
#define TILEWRIGHT_ZE_CALLS(X)                                                                    \
  X(Init) X(DriverGet) X(DriverGetApiVersion) X(DriverGetProperties)                              \
  X(DriverGetExtensionProperties) X(DeviceGet) X(DeviceGetSubDevices) X(DeviceGetProperties)      \
  X(DeviceGetComputeProperties) X(DeviceGetModuleProperties) X(DeviceGetMemoryProperties)         \
  X(DeviceGetCommandQueueGroupProperties) X(DeviceGetStatus) X(ContextCreate) X(ContextDestroy)   \
  X(CommandListCreateImmediate) X(CommandListDestroy) X(CommandListAppendBarrier)                 \
  X(CommandListCreate) X(CommandListClose) X(CommandListAppendEventReset) X(CommandQueueCreate)   \
  X(CommandQueueDestroy) X(CommandQueueExecuteCommandLists) X(CommandQueueSynchronize)            \
  X(CommandListAppendMemoryCopy) X(CommandListAppendLaunchKernel) X(EventPoolCreate)              \
  X(EventPoolDestroy) X(EventCreate) X(EventDestroy) X(EventHostSynchronize) X(EventHostReset)    \
  X(EventQueryKernelTimestamp) X(MemAllocDevice) X(MemAllocHost) X(MemFree) X(ModuleCreate)       \
  X(ModuleDestroy) X(ModuleGetNativeBinary) X(ModuleBuildLogGetString) X(ModuleBuildLogDestroy)   \
  X(KernelCreate) X(KernelDestroy) X(KernelSetGroupSize) X(KernelSetArgumentValue)
// clang-format on

/// Later calls: null in a loader that is older.
#define TILEWRIGHT_ZE_LATER_CALLS(X) X(DriverGetLastErrorDescription)

/// The Level Zero loader, opened at run time into this table. Never closed: drivers leave threads
/// behind.
struct Api {
#define TILEWRIGHT_ZE_MEMBER(name) calls::name* name = nullptr;
  TILEWRIGHT_ZE_CALLS(TILEWRIGHT_ZE_MEMBER)
  TILEWRIGHT_ZE_LATER_CALLS(TILEWRIGHT_ZE_MEMBER)
#undef TILEWRIGHT_ZE_MEMBER

  std::string path;
  bool has_in_order_lists = false;  ///< which drivers may have and older loaders do not know
};

/// Opened once: TILEWRIGHT_ZE_LIBRARY, else the system's. Throws BackendUnavailable saying what was
/// tried.
const Api& api();

}  // namespace tilewright::level_zero
