#pragma once

#include <cstddef>
#include <cstdint>

// The part of Level Zero's binary interface that is used, under its own names. A test holds every
// size, offset and value against the real header.
namespace tilewright::level_zero {

struct ze_driver;
struct ze_device;
struct ze_context;
struct ze_command_queue;
struct ze_command_list;
struct ze_fence;
struct ze_event_pool;
struct ze_event;
struct ze_module;
struct ze_module_build_log;
struct ze_kernel;
using ze_driver_handle_t = ze_driver*;
using ze_device_handle_t = ze_device*;
using ze_context_handle_t = ze_context*;
using ze_command_queue_handle_t = ze_command_queue*;
using ze_command_list_handle_t = ze_command_list*;
using ze_fence_handle_t = ze_fence*;
using ze_event_pool_handle_t = ze_event_pool*;
using ze_event_handle_t = ze_event*;
using ze_module_handle_t = ze_module*;
using ze_module_build_log_handle_t = ze_module_build_log*;
using ze_kernel_handle_t = ze_kernel*;

enum ze_result_t : std::uint32_t {
  ZE_RESULT_SUCCESS = 0,
  ZE_RESULT_NOT_READY = 1,
  ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
  ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
  ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
  ZE_RESULT_ERROR_MODULE_BUILD_FAILURE = 0x70000004,
  ZE_RESULT_ERROR_MODULE_LINK_FAILURE = 0x70000005,
  ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET = 0x70000006,
  ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE = 0x70000007,
  ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000,
  ZE_RESULT_ERROR_NOT_AVAILABLE = 0x70010001,
  ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000,
  ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
  ZE_RESULT_ERROR_UNSUPPORTED_VERSION = 0x78000002,
  ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
  ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
  ZE_RESULT_ERROR_INVALID_NULL_HANDLE = 0x78000005,
  ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE = 0x78000006,
  ZE_RESULT_ERROR_INVALID_NULL_POINTER = 0x78000007,
  ZE_RESULT_ERROR_INVALID_SIZE = 0x78000008,
  ZE_RESULT_ERROR_UNSUPPORTED_SIZE = 0x78000009,
  ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT = 0x7800000a,
  ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT = 0x7800000b,
  ZE_RESULT_ERROR_INVALID_ENUMERATION = 0x7800000c,
  ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION = 0x7800000d,
  ZE_RESULT_ERROR_INVALID_NATIVE_BINARY = 0x7800000f,
  ZE_RESULT_ERROR_INVALID_KERNEL_NAME = 0x78000011,
  ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION = 0x78000013,
  ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION = 0x78000014,
  ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX = 0x78000015,
  ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE = 0x78000016,
  ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED = 0x78000018,
  ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE = 0x78000019,
  ZE_RESULT_ERROR_OVERLAPPING_REGIONS = 0x7800001a,
  ZE_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
};

enum ze_structure_type_t : std::uint32_t {
  ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES = 0x1,
  ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
  ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES = 0x4,
  ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES = 0x5,
  ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES = 0x6,
  ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
  ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
  ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC = 0xe,
  ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC = 0xf,
  ZE_STRUCTURE_TYPE_EVENT_POOL_DESC = 0x10,
  ZE_STRUCTURE_TYPE_EVENT_DESC = 0x11,
  ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC = 0x15,
  ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC = 0x16,
  ZE_STRUCTURE_TYPE_MODULE_DESC = 0x1b,
  ZE_STRUCTURE_TYPE_KERNEL_DESC = 0x1d,
  ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC = 0x00020001,
  ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 = 0x00020006,
};

enum ze_api_version_t : std::uint32_t {
  ZE_API_VERSION_1_0 = 0x00010000,
  ZE_API_VERSION_1_2 = 0x00010002,
  ZE_API_VERSION_1_7 = 0x00010007,
};

enum ze_device_type_t : std::uint32_t { ZE_DEVICE_TYPE_GPU = 1, ZE_DEVICE_TYPE_CPU = 2 };

enum ze_device_property_flag_t : std::uint32_t { ZE_DEVICE_PROPERTY_FLAG_INTEGRATED = 1 };

enum ze_device_module_flag_t : std::uint32_t {
  ZE_DEVICE_MODULE_FLAG_FP16 = 1,
  ZE_DEVICE_MODULE_FLAG_FP64 = 2,
};

enum ze_command_queue_group_property_flag_t : std::uint32_t {
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE = 1,
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY = 2,
};

enum ze_command_queue_flag_t : std::uint32_t {
  ZE_COMMAND_QUEUE_FLAG_IN_ORDER = 2,  // since 1.7
};

enum ze_command_queue_mode_t : std::uint32_t { ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS = 2 };
enum ze_command_queue_priority_t : std::uint32_t { ZE_COMMAND_QUEUE_PRIORITY_NORMAL = 0 };

enum ze_event_pool_flag_t : std::uint32_t {
  ZE_EVENT_POOL_FLAG_HOST_VISIBLE = 1,
  ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP = 4,
};

enum ze_event_scope_flag_t : std::uint32_t {
  ZE_EVENT_SCOPE_FLAG_DEVICE = 2,
  ZE_EVENT_SCOPE_FLAG_HOST = 4,
};

enum ze_module_format_t : std::uint32_t {
  ZE_MODULE_FORMAT_IL_SPIRV = 0,
  ZE_MODULE_FORMAT_NATIVE = 1,
};

enum ze_relaxed_allocation_limits_exp_flag_t : std::uint32_t {
  ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE = 1,
};

struct ze_uuid_t {
  std::uint8_t id[16];
};

struct ze_driver_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  void* pNext = nullptr;
  ze_uuid_t uuid{};
  std::uint32_t driverVersion = 0;
};

struct ze_driver_extension_properties_t {
  char name[256];
  std::uint32_t version;
};

struct ze_device_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  void* pNext = nullptr;
  ze_device_type_t type{};
  std::uint32_t vendorId = 0;
  std::uint32_t deviceId = 0;
  std::uint32_t flags = 0;
  std::uint32_t subdeviceId = 0;
  std::uint32_t coreClockRate = 0;
  std::uint64_t maxMemAllocSize = 0;
  std::uint32_t maxHardwareContexts = 0;
  std::uint32_t maxCommandQueuePriority = 0;
  std::uint32_t numThreadsPerEU = 0;
  std::uint32_t physicalEUSimdWidth = 0;
  std::uint32_t numEUsPerSubslice = 0;
  std::uint32_t numSubslicesPerSlice = 0;
  std::uint32_t numSlices = 0;
  std::uint64_t timerResolution = 0;
  std::uint32_t timestampValidBits = 0;
  std::uint32_t kernelTimestampValidBits = 0;
  ze_uuid_t uuid{};
  char name[256]{};
};

struct ze_device_compute_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  void* pNext = nullptr;
  std::uint32_t maxTotalGroupSize = 0;
  std::uint32_t maxGroupSizeX = 0;
  std::uint32_t maxGroupSizeY = 0;
  std::uint32_t maxGroupSizeZ = 0;
  std::uint32_t maxGroupCountX = 0;
  std::uint32_t maxGroupCountY = 0;
  std::uint32_t maxGroupCountZ = 0;
  std::uint32_t maxSharedLocalMemory = 0;
  std::uint32_t numSubGroupSizes = 0;
  std::uint32_t subGroupSizes[8]{};
};

struct ze_device_module_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  void* pNext = nullptr;
  std::uint32_t spirvVersionSupported = 0;
  std::uint32_t flags = 0;
  std::uint32_t fp16flags = 0;
  std::uint32_t fp32flags = 0;
  std::uint32_t fp64flags = 0;
  std::uint32_t maxArgumentsSize = 0;
  std::uint32_t printfBufferSize = 0;
  ze_uuid_t nativeKernelSupported{};
};

struct ze_command_queue_group_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  void* pNext = nullptr;
  std::uint32_t flags = 0;
  std::size_t maxMemoryFillPatternSize = 0;
  std::uint32_t numQueues = 0;
};

struct ze_device_memory_properties_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  void* pNext = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t maxClockRate = 0;
  std::uint32_t maxBusWidth = 0;
  std::uint64_t totalSize = 0;
  char name[256]{};
};

struct ze_context_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};

struct ze_command_queue_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  const void* pNext = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;
  std::uint32_t flags = 0;
  ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
};

struct ze_command_list_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  const void* pNext = nullptr;
  std::uint32_t commandQueueGroupOrdinal = 0;
  std::uint32_t flags = 0;
};

struct ze_event_pool_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t count = 0;
};

struct ze_event_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  const void* pNext = nullptr;
  std::uint32_t index = 0;
  std::uint32_t signal = 0;
  std::uint32_t wait = 0;
};

struct ze_kernel_timestamp_data_t {
  std::uint64_t kernelStart;
  std::uint64_t kernelEnd;
};

struct ze_kernel_timestamp_result_t {
  ze_kernel_timestamp_data_t global;
  ze_kernel_timestamp_data_t context;
};

struct ze_device_mem_alloc_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t ordinal = 0;
};

struct ze_host_mem_alloc_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};

struct ze_relaxed_allocation_limits_exp_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
};

struct ze_module_constants_t {
  std::uint32_t numConstants = 0;
  const std::uint32_t* pConstantIds = nullptr;
  const void** pConstantValues = nullptr;
};

struct ze_module_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  const void* pNext = nullptr;
  ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV;
  std::size_t inputSize = 0;
  const std::uint8_t* pInputModule = nullptr;
  const char* pBuildFlags = nullptr;
  const ze_module_constants_t* pConstants = nullptr;
};

struct ze_kernel_desc_t {
  ze_structure_type_t stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
  const char* pKernelName = nullptr;
};

struct ze_group_count_t {
  std::uint32_t groupCountX;
  std::uint32_t groupCountY;
  std::uint32_t groupCountZ;
};

// The calls, without their prefix "ze".
namespace calls {

using Init = ze_result_t(std::uint32_t flags);
using DriverGet = ze_result_t(std::uint32_t* count, ze_driver_handle_t* drivers);
using DriverGetApiVersion = ze_result_t(ze_driver_handle_t, ze_api_version_t*);
using DriverGetProperties = ze_result_t(ze_driver_handle_t, ze_driver_properties_t*);
using DriverGetExtensionProperties = ze_result_t(ze_driver_handle_t, std::uint32_t* count,
                                                 ze_driver_extension_properties_t*);
using DriverGetLastErrorDescription = ze_result_t(ze_driver_handle_t, const char** text);
using DeviceGet = ze_result_t(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t*);
using DeviceGetSubDevices = ze_result_t(ze_device_handle_t, std::uint32_t* count,
                                        ze_device_handle_t*);
using DeviceGetProperties = ze_result_t(ze_device_handle_t, ze_device_properties_t*);
using DeviceGetComputeProperties = ze_result_t(ze_device_handle_t, ze_device_compute_properties_t*);
using DeviceGetModuleProperties = ze_result_t(ze_device_handle_t, ze_device_module_properties_t*);
using DeviceGetMemoryProperties = ze_result_t(ze_device_handle_t, std::uint32_t* count,
                                              ze_device_memory_properties_t*);
using DeviceGetCommandQueueGroupProperties = ze_result_t(ze_device_handle_t, std::uint32_t* count,
                                                         ze_command_queue_group_properties_t*);
using DeviceGetStatus = ze_result_t(ze_device_handle_t);
using ContextCreate = ze_result_t(ze_driver_handle_t, const ze_context_desc_t*,
                                  ze_context_handle_t*);
using ContextDestroy = ze_result_t(ze_context_handle_t);
using CommandListCreateImmediate = ze_result_t(ze_context_handle_t, ze_device_handle_t,
                                               const ze_command_queue_desc_t*,
                                               ze_command_list_handle_t*);
using CommandListCreate = ze_result_t(ze_context_handle_t, ze_device_handle_t,
                                      const ze_command_list_desc_t*, ze_command_list_handle_t*);
using CommandListClose = ze_result_t(ze_command_list_handle_t);
using CommandListDestroy = ze_result_t(ze_command_list_handle_t);
using CommandListAppendEventReset = ze_result_t(ze_command_list_handle_t, ze_event_handle_t);
using CommandQueueCreate = ze_result_t(ze_context_handle_t, ze_device_handle_t,
                                       const ze_command_queue_desc_t*, ze_command_queue_handle_t*);
using CommandQueueDestroy = ze_result_t(ze_command_queue_handle_t);
using CommandQueueExecuteCommandLists = ze_result_t(ze_command_queue_handle_t, std::uint32_t count,
                                                    ze_command_list_handle_t* lists,
                                                    ze_fence_handle_t);
using CommandQueueSynchronize = ze_result_t(ze_command_queue_handle_t, std::uint64_t nanoseconds);
using CommandListAppendBarrier = ze_result_t(ze_command_list_handle_t, ze_event_handle_t signal,
                                             std::uint32_t wait_count, ze_event_handle_t* waits);
using CommandListAppendMemoryCopy = ze_result_t(ze_command_list_handle_t, void* dst,
                                                const void* src, std::size_t bytes,
                                                ze_event_handle_t signal, std::uint32_t wait_count,
                                                ze_event_handle_t* waits);
using CommandListAppendLaunchKernel = ze_result_t(ze_command_list_handle_t, ze_kernel_handle_t,
                                                  const ze_group_count_t*, ze_event_handle_t signal,
                                                  std::uint32_t wait_count,
                                                  ze_event_handle_t* waits);
using EventPoolCreate = ze_result_t(ze_context_handle_t, const ze_event_pool_desc_t*,
                                    std::uint32_t device_count, ze_device_handle_t* devices,
                                    ze_event_pool_handle_t*);
using EventPoolDestroy = ze_result_t(ze_event_pool_handle_t);
using EventCreate = ze_result_t(ze_event_pool_handle_t, const ze_event_desc_t*, ze_event_handle_t*);
using EventDestroy = ze_result_t(ze_event_handle_t);
using EventHostSynchronize = ze_result_t(ze_event_handle_t, std::uint64_t nanoseconds);
using EventHostReset = ze_result_t(ze_event_handle_t);
using EventQueryKernelTimestamp = ze_result_t(ze_event_handle_t, ze_kernel_timestamp_result_t*);
using MemAllocDevice = ze_result_t(ze_context_handle_t, const ze_device_mem_alloc_desc_t*,
                                   std::size_t bytes, std::size_t alignment, ze_device_handle_t,
                                   void**);
using MemAllocHost = ze_result_t(ze_context_handle_t, const ze_host_mem_alloc_desc_t*,
                                 std::size_t bytes, std::size_t alignment, void**);
using MemFree = ze_result_t(ze_context_handle_t, void*);
using ModuleCreate = ze_result_t(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t*,
                                 ze_module_handle_t*, ze_module_build_log_handle_t*);
using ModuleDestroy = ze_result_t(ze_module_handle_t);
using ModuleGetNativeBinary = ze_result_t(ze_module_handle_t, std::size_t* bytes, std::uint8_t*);
using ModuleBuildLogGetString = ze_result_t(ze_module_build_log_handle_t, std::size_t* bytes,
                                            char*);
using ModuleBuildLogDestroy = ze_result_t(ze_module_build_log_handle_t);
using KernelCreate = ze_result_t(ze_module_handle_t, const ze_kernel_desc_t*, ze_kernel_handle_t*);
using KernelDestroy = ze_result_t(ze_kernel_handle_t);
using KernelSetGroupSize = ze_result_t(ze_kernel_handle_t, std::uint32_t x, std::uint32_t y,
                                       std::uint32_t z);
using KernelSetArgumentValue = ze_result_t(ze_kernel_handle_t, std::uint32_t index,
                                           std::size_t bytes, const void* value);

}  // namespace calls

}  // namespace tilewright::level_zero
