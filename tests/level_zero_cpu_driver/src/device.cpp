#include "device.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "api.hpp"
#include "completion.hpp"
#include "give.hpp"
#include "opencl.hpp"
#include "settings.hpp"

namespace ze_cpu {
namespace {

std::atomic<bool> lost{false};
std::atomic<uint64_t> commands{0};

std::shared_ptr<Device> make_device(uint32_t index, const Device* root, uint32_t tile) {
  auto device = std::make_shared<Device>(index, root, tile);
  device->handle = publish(device);
  return device;
}

const std::vector<ze_device_handle_t>& root_devices() {
  static const auto* const handles = [] {
    auto* const made = new std::vector<ze_device_handle_t>;
    for (uint32_t index = 0; index < settings().devices; ++index) {
      const auto device = make_device(index, nullptr, 0);
      for (uint32_t tile = 0; tile < settings().tiles; ++tile) {
        device->tiles.push_back(make_device(index, device.get(), tile)->handle);
      }
      made->push_back(device->handle);
    }
    return made;
  }();
  return *handles;
}

/// ze_intel_device_module_dp_exp_properties_t, which Debian's headers do not have yet.
struct DotProducts {
  ze_structure_type_t stype;
  void* pNext;
  uint32_t flags;
};

void give_dot_products(void* next) {
  constexpr auto kType = static_cast<ze_structure_type_t>(0x00030013);
  auto* const asked = static_cast<DotProducts*>(next);
  if (asked == nullptr || asked->stype != kType) return;
  asked->flags = (opencl().integer_dot_product ? 1 : 0) | (settings().dpas != 0 ? 2 : 0);
}

void give_handles(uint32_t* count, ze_device_handle_t* devices,
                  const std::vector<ze_device_handle_t>& all) {
  give(count, devices, all.size(), [&](auto& device, uint32_t i) { device = all[i]; });
}

}  // namespace

void Device::require_present() const {
  if (lost) fail(ZE_RESULT_ERROR_DEVICE_LOST, "the device was lost");
}

const std::vector<QueueGroup>& queue_groups() {
  static const auto* const groups = settings().copy_engine
                                        ? new std::vector<QueueGroup>{{true}, {false}}
                                        : new std::vector<QueueGroup>{{true}};
  return *groups;
}

const QueueGroup& queue_group(uint32_t ordinal, uint32_t index) {
  if (ordinal >= queue_groups().size()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "queue group ", ordinal, " of ", queue_groups().size());
  }
  if (index >= Limits::kQueuesPerGroup) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "queue ", index, " of ", Limits::kQueuesPerGroup);
  }
  return queue_groups()[ordinal];
}

bool devices_are_lost() { return lost; }

void lose_devices() {
  lost = true;
  completion().announce();
}

void count_command() {
  const uint64_t before = commands++;
  if (settings().lose_after && before >= *settings().lose_after) lose_devices();
}

uint64_t now() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}

namespace api {

ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* devices) {
  find<Driver>(driver);
  give_handles(count, devices, root_devices());
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t* count,
                                  ze_device_handle_t* devices) {
  const auto& tiles = find<Device>(device)->tiles;
  give_handles(count, devices, tiles);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  const auto device = find<Device>(handle);
  require_pointer(properties, "pDeviceProperties");
  const bool in_cycles = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (!in_cycles) {
    require_descriptor(properties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "pDeviceProperties");
  }
  const OpenCL& cl = opencl();
  ze_device_properties_t& p = *properties;
  p.type = settings().gpu ? ZE_DEVICE_TYPE_GPU : ZE_DEVICE_TYPE_CPU;
  p.vendorId = cl.info<cl_uint>(CL_DEVICE_VENDOR_ID);
  p.deviceId = device->index;
  p.flags = (settings().gpu && settings().integrated ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0) |
            (device->is_tile() ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0);
  p.subdeviceId = device->tile;
  p.coreClockRate = cl.clock_mhz;
  p.maxMemAllocSize = Limits::kAllocation;
  p.maxHardwareContexts = 1;
  p.maxCommandQueuePriority = 0;
  p.numThreadsPerEU = 1;
  p.physicalEUSimdWidth =
      settings().simd_width.value_or(cl.info<cl_uint>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  p.numEUsPerSubslice = cl.compute_units;
  p.numSubslicesPerSlice = 1;
  p.numSlices = 1;
  p.timerResolution = in_cycles ? 1000000000 : 1;
  p.timestampValidBits = 64;
  p.kernelTimestampValidBits = 64;
  std::memset(p.uuid.id, 0, sizeof(p.uuid.id));
  std::memcpy(p.uuid.id, "ze_cpu", 6);
  p.uuid.id[14] = uint8_t(device->index);
  p.uuid.id[15] = uint8_t(device->is_tile() ? device->tile + 1 : 0);
  std::snprintf(p.name, sizeof(p.name), "Level Zero on %s", cl.device_name.c_str());
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t handle,
                                         ze_device_compute_properties_t* properties) {
  find<Device>(handle);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, "pComputeProperties");
  ze_device_compute_properties_t& p = *properties;
  p.maxTotalGroupSize = p.maxGroupSizeX = p.maxGroupSizeY = p.maxGroupSizeZ = Limits::kGroupItems;
  p.maxGroupCountX = p.maxGroupCountY = p.maxGroupCountZ = Limits::kGroupCount;
  p.maxSharedLocalMemory = Limits::kLocalMemory;
  p.numSubGroupSizes = 0;
  for (const uint32_t size : opencl().sub_group_sizes) {
    // As GPUs have them whose DPAS is so wide.
    if (size < settings().dpas) continue;
    if (p.numSubGroupSizes < ZE_SUBGROUPSIZE_COUNT) p.subGroupSizes[p.numSubGroupSizes++] = size;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t handle,
                                        ze_device_module_properties_t* properties) {
  find<Device>(handle);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, "pModuleProperties");
  const OpenCL& cl = opencl();
  const ze_device_fp_flags_t floating = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
                                        ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_FMA;
  ze_device_module_properties_t& p = *properties;
  p.spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
  p.flags = (cl.fp16 ? ZE_DEVICE_MODULE_FLAG_FP16 : 0) |
            (cl.fp64 ? ZE_DEVICE_MODULE_FLAG_FP64 : 0) |
            (cl.int64_atomics ? ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS : 0) |
            (cl.integer_dot_product ? ZE_DEVICE_MODULE_FLAG_DP4A : 0);
  p.fp16flags = cl.fp16 ? floating : 0;
  p.fp32flags = floating;
  p.fp64flags = cl.fp64 ? floating : 0;
  p.maxArgumentsSize = uint32_t(cl.info<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE));
  give_dot_products(p.pNext);
  p.printfBufferSize = uint32_t(cl.info<size_t>(CL_DEVICE_PRINTF_BUFFER_SIZE));
  std::memset(p.nativeKernelSupported.id, 0, sizeof(p.nativeKernelSupported.id));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCommandQueueGroupProperties(
    ze_device_handle_t handle, uint32_t* count, ze_command_queue_group_properties_t* properties) {
  find<Device>(handle);
  give(count, properties, queue_groups().size(), [](auto& p, uint32_t i) {
    p.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
              (queue_groups()[i].compute ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE : 0);
    p.maxMemoryFillPatternSize = Limits::kFillPattern;
    p.numQueues = Limits::kQueuesPerGroup;
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t handle, uint32_t* count,
                                        ze_device_memory_properties_t* properties) {
  find<Device>(handle);
  give(count, properties, 1, [](auto& p, uint32_t) {
    p.flags = 0;
    p.maxClockRate = 0;
    p.maxBusWidth = 0;
    p.totalSize = settings().memory_limit;
    std::snprintf(p.name, sizeof(p.name), "host memory");
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t handle,
                                              ze_device_memory_access_properties_t* properties) {
  find<Device>(handle);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES,
                     "pMemAccessProperties");
  const ze_memory_access_cap_flags_t all =
      ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
      ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
  properties->hostAllocCapabilities = all;
  properties->deviceAllocCapabilities = all;
  properties->sharedSingleDeviceAllocCapabilities = all;
  properties->sharedCrossDeviceAllocCapabilities = all;
  // Kernel arguments must point into an allocation.
  properties->sharedSystemAllocCapabilities = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCacheProperties(ze_device_handle_t handle, uint32_t* count,
                                       ze_device_cache_properties_t* properties) {
  find<Device>(handle);
  give(count, properties, 1, [](auto& p, uint32_t) {
    p.flags = 0;
    p.cacheSize = opencl().cache_bytes;
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t device, ze_device_handle_t peer,
                                     ze_device_p2p_properties_t* properties) {
  find<Device>(device);
  find<Device>(peer);
  require_descriptor(properties, ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, "pP2PProperties");
  properties->flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t peer,
                                  ze_bool_t* value) {
  find<Device>(device);
  find<Device>(peer);
  require_pointer(value, "value");
  *value = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetStatus(ze_device_handle_t device) {
  find<Device>(device)->require_present();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t* host,
                                        uint64_t* device_time) {
  find<Device>(device);
  require_pointer(host, "hostTimestamp");
  require_pointer(device_time, "deviceTimestamp");
  *host = *device_time = now();
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t* root) {
  const auto found = find<Device>(device);
  require_pointer(root, "phRootDevice");
  *root = found->is_tile() ? found->root->handle : nullptr;
  return ZE_RESULT_SUCCESS;
}

}  // namespace api
}  // namespace ze_cpu
