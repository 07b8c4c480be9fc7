#include <doctest/doctest.h>
#include <level_zero/ze_api.h>

#include <cstddef>
#include <type_traits>

#include "level_zero/abi.hpp"
#include "level_zero/api.hpp"

// Each name of ours in tilewright::level_zero has a namesake in the real header, outside of it.
namespace tilewright::level_zero {
namespace {

#define CHECK_VALUE(name) \
  CHECK(static_cast<std::uint32_t>(name) == static_cast<std::uint32_t>(::name))
#define CHECK_STRUCT(type)               \
  CHECK(sizeof(type) == sizeof(::type)); \
  CHECK(alignof(type) == alignof(::type))
#define CHECK_MEMBER(type, member)                           \
  CHECK(offsetof(type, member) == offsetof(::type, member)); \
  CHECK(sizeof(type::member) == sizeof(::type::member))
#define CHECK_HEAD(type)     \
  CHECK_STRUCT(type);        \
  CHECK_MEMBER(type, stype); \
  CHECK_MEMBER(type, pNext)

TEST_CASE("level-zero abi: results") {
  CHECK_VALUE(ZE_RESULT_SUCCESS);
  CHECK_VALUE(ZE_RESULT_NOT_READY);
  CHECK_VALUE(ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK_VALUE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  CHECK_VALUE(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  CHECK_VALUE(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK_VALUE(ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
  CHECK_VALUE(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET);
  CHECK_VALUE(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE);
  CHECK_VALUE(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
  CHECK_VALUE(ZE_RESULT_ERROR_NOT_AVAILABLE);
  CHECK_VALUE(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
  CHECK_VALUE(ZE_RESULT_ERROR_UNINITIALIZED);
  CHECK_VALUE(ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
  CHECK_VALUE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK_VALUE(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK_VALUE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK_VALUE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK_VALUE(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
  CHECK_VALUE(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  CHECK_VALUE(ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK_VALUE(ZE_RESULT_ERROR_UNKNOWN);
  CHECK(sizeof(ze_result_t) == sizeof(::ze_result_t));
}

TEST_CASE("level-zero abi: other values") {
  CHECK_VALUE(ZE_API_VERSION_1_0);
  CHECK_VALUE(ZE_API_VERSION_1_2);
  CHECK_VALUE(ZE_DEVICE_TYPE_GPU);
  CHECK_VALUE(ZE_DEVICE_TYPE_CPU);
  CHECK_VALUE(ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
  CHECK_VALUE(ZE_DEVICE_MODULE_FLAG_FP16);
  CHECK_VALUE(ZE_DEVICE_MODULE_FLAG_FP64);
  CHECK_VALUE(ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
  CHECK_VALUE(ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
  CHECK_VALUE(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  CHECK_VALUE(ZE_COMMAND_QUEUE_PRIORITY_NORMAL);
  CHECK_VALUE(ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  CHECK_VALUE(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
  CHECK_VALUE(ZE_EVENT_SCOPE_FLAG_DEVICE);
  CHECK_VALUE(ZE_EVENT_SCOPE_FLAG_HOST);
  CHECK_VALUE(ZE_MODULE_FORMAT_IL_SPIRV);
  CHECK_VALUE(ZE_MODULE_FORMAT_NATIVE);
  CHECK_VALUE(ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_EVENT_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_MODULE_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  CHECK_VALUE(ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
  CHECK(sizeof(ze_api_version_t) == sizeof(::ze_api_version_t));
}

TEST_CASE("level-zero abi: properties") {
  CHECK_STRUCT(ze_driver_extension_properties_t);
  CHECK_MEMBER(ze_driver_extension_properties_t, name);
  CHECK_MEMBER(ze_driver_extension_properties_t, version);
  CHECK_HEAD(ze_driver_properties_t);
  CHECK_MEMBER(ze_driver_properties_t, uuid);
  CHECK_MEMBER(ze_driver_properties_t, driverVersion);
  CHECK_HEAD(ze_device_properties_t);
  CHECK_MEMBER(ze_device_properties_t, type);
  CHECK_MEMBER(ze_device_properties_t, vendorId);
  CHECK_MEMBER(ze_device_properties_t, deviceId);
  CHECK_MEMBER(ze_device_properties_t, flags);
  CHECK_MEMBER(ze_device_properties_t, subdeviceId);
  CHECK_MEMBER(ze_device_properties_t, coreClockRate);
  CHECK_MEMBER(ze_device_properties_t, maxMemAllocSize);
  CHECK_MEMBER(ze_device_properties_t, maxHardwareContexts);
  CHECK_MEMBER(ze_device_properties_t, maxCommandQueuePriority);
  CHECK_MEMBER(ze_device_properties_t, numThreadsPerEU);
  CHECK_MEMBER(ze_device_properties_t, physicalEUSimdWidth);
  CHECK_MEMBER(ze_device_properties_t, numEUsPerSubslice);
  CHECK_MEMBER(ze_device_properties_t, numSubslicesPerSlice);
  CHECK_MEMBER(ze_device_properties_t, numSlices);
  CHECK_MEMBER(ze_device_properties_t, timerResolution);
  CHECK_MEMBER(ze_device_properties_t, timestampValidBits);
  CHECK_MEMBER(ze_device_properties_t, kernelTimestampValidBits);
  CHECK_MEMBER(ze_device_properties_t, uuid);
  CHECK_MEMBER(ze_device_properties_t, name);
  CHECK_HEAD(ze_device_compute_properties_t);
  CHECK_MEMBER(ze_device_compute_properties_t, maxTotalGroupSize);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupSizeX);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupSizeY);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupSizeZ);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupCountX);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupCountY);
  CHECK_MEMBER(ze_device_compute_properties_t, maxGroupCountZ);
  CHECK_MEMBER(ze_device_compute_properties_t, maxSharedLocalMemory);
  CHECK_MEMBER(ze_device_compute_properties_t, numSubGroupSizes);
  CHECK_MEMBER(ze_device_compute_properties_t, subGroupSizes);
  CHECK_HEAD(ze_device_module_properties_t);
  CHECK_MEMBER(ze_device_module_properties_t, spirvVersionSupported);
  CHECK_MEMBER(ze_device_module_properties_t, flags);
  CHECK_MEMBER(ze_device_module_properties_t, fp16flags);
  CHECK_MEMBER(ze_device_module_properties_t, fp32flags);
  CHECK_MEMBER(ze_device_module_properties_t, fp64flags);
  CHECK_MEMBER(ze_device_module_properties_t, maxArgumentsSize);
  CHECK_MEMBER(ze_device_module_properties_t, printfBufferSize);
  CHECK_MEMBER(ze_device_module_properties_t, nativeKernelSupported);
  CHECK_HEAD(ze_command_queue_group_properties_t);
  CHECK_MEMBER(ze_command_queue_group_properties_t, flags);
  CHECK_MEMBER(ze_command_queue_group_properties_t, maxMemoryFillPatternSize);
  CHECK_MEMBER(ze_command_queue_group_properties_t, numQueues);
  CHECK_HEAD(ze_device_memory_properties_t);
  CHECK_MEMBER(ze_device_memory_properties_t, flags);
  CHECK_MEMBER(ze_device_memory_properties_t, maxClockRate);
  CHECK_MEMBER(ze_device_memory_properties_t, maxBusWidth);
  CHECK_MEMBER(ze_device_memory_properties_t, totalSize);
  CHECK_MEMBER(ze_device_memory_properties_t, name);
}

TEST_CASE("level-zero abi: descriptors") {
  CHECK_HEAD(ze_context_desc_t);
  CHECK_MEMBER(ze_context_desc_t, flags);
  CHECK_HEAD(ze_command_queue_desc_t);
  CHECK_MEMBER(ze_command_queue_desc_t, ordinal);
  CHECK_MEMBER(ze_command_queue_desc_t, index);
  CHECK_MEMBER(ze_command_queue_desc_t, flags);
  CHECK_MEMBER(ze_command_queue_desc_t, mode);
  CHECK_MEMBER(ze_command_queue_desc_t, priority);

  CHECK_HEAD(ze_command_list_desc_t);
  CHECK_MEMBER(ze_command_list_desc_t, commandQueueGroupOrdinal);
  CHECK_MEMBER(ze_command_list_desc_t, flags);
  CHECK_HEAD(ze_event_pool_desc_t);
  CHECK_MEMBER(ze_event_pool_desc_t, flags);
  CHECK_MEMBER(ze_event_pool_desc_t, count);
  CHECK_HEAD(ze_event_desc_t);
  CHECK_MEMBER(ze_event_desc_t, index);
  CHECK_MEMBER(ze_event_desc_t, signal);
  CHECK_MEMBER(ze_event_desc_t, wait);
  CHECK_HEAD(ze_device_mem_alloc_desc_t);
  CHECK_MEMBER(ze_device_mem_alloc_desc_t, flags);
  CHECK_MEMBER(ze_device_mem_alloc_desc_t, ordinal);
  CHECK_HEAD(ze_host_mem_alloc_desc_t);
  CHECK_MEMBER(ze_host_mem_alloc_desc_t, flags);
  CHECK_HEAD(ze_relaxed_allocation_limits_exp_desc_t);
  CHECK_MEMBER(ze_relaxed_allocation_limits_exp_desc_t, flags);
  CHECK_STRUCT(ze_module_constants_t);
  CHECK_MEMBER(ze_module_constants_t, numConstants);
  CHECK_MEMBER(ze_module_constants_t, pConstantIds);
  CHECK_MEMBER(ze_module_constants_t, pConstantValues);
  CHECK_HEAD(ze_module_desc_t);
  CHECK_MEMBER(ze_module_desc_t, format);
  CHECK_MEMBER(ze_module_desc_t, inputSize);
  CHECK_MEMBER(ze_module_desc_t, pInputModule);
  CHECK_MEMBER(ze_module_desc_t, pBuildFlags);
  CHECK_MEMBER(ze_module_desc_t, pConstants);
  CHECK_HEAD(ze_kernel_desc_t);
  CHECK_MEMBER(ze_kernel_desc_t, flags);
  CHECK_MEMBER(ze_kernel_desc_t, pKernelName);
}

TEST_CASE("level-zero abi: plain structures") {
  CHECK_STRUCT(ze_group_count_t);
  CHECK_MEMBER(ze_group_count_t, groupCountX);
  CHECK_MEMBER(ze_group_count_t, groupCountY);
  CHECK_MEMBER(ze_group_count_t, groupCountZ);
  CHECK_STRUCT(ze_kernel_timestamp_data_t);
  CHECK_MEMBER(ze_kernel_timestamp_data_t, kernelStart);
  CHECK_MEMBER(ze_kernel_timestamp_data_t, kernelEnd);
  CHECK_STRUCT(ze_kernel_timestamp_result_t);
  CHECK_MEMBER(ze_kernel_timestamp_result_t, global);
  CHECK_MEMBER(ze_kernel_timestamp_result_t, context);
}

/// Whether a value of both types travels the same way: as a pointer, or as a number of this size.
template <class Ours, class Theirs>
constexpr bool travels_alike =
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);

template <class Ours, class Theirs>
struct CalledAlike : std::false_type {};
template <class R, class... A, class R2, class... A2>
struct CalledAlike<R(A...), R2(A2...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) == sizeof...(A2)) {
      return travels_alike<R, R2> && (travels_alike<A, A2> && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = compare();
};

TEST_CASE("level-zero abi: the calls take what the real ones take") {
#define CHECK_CALL(name) CHECK(CalledAlike<calls::name, decltype(::ze##name)>::value);
  TILEWRIGHT_ZE_CALLS(CHECK_CALL)
#undef CHECK_CALL
  CHECK_FALSE(CalledAlike<int(int), int(int, int)>::value);
  CHECK_FALSE(CalledAlike<int(std::uint32_t), int(std::uint64_t)>::value);
  CHECK_FALSE(CalledAlike<int(void*), int(std::uint64_t)>::value);
}

}  // namespace
}  // namespace tilewright::level_zero
