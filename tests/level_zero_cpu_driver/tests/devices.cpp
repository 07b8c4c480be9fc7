// What the driver says of itself and of its devices, and what the environment makes of that.
#include <algorithm>

#include "fixture.hpp"

namespace {

ze_device_properties_t properties_of(ze_device_handle_t device) {
  ze_device_properties_t properties{ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  REQUIRE_OK(zeDeviceGetProperties(device, &properties));
  return properties;
}

}  // namespace

TEST_CASE("a device says what it is") {
  const auto devices = all_devices();
  REQUIRE(devices.size() == 1);
  const auto properties = properties_of(devices[0]);
  CHECK(properties.type == ZE_DEVICE_TYPE_CPU);
  CHECK(std::string(properties.name).rfind("Level Zero on ", 0) == 0);
  CHECK((properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) == 0);
  CHECK(properties.maxMemAllocSize == uint64_t(4) << 30);
  CHECK(properties.timerResolution == 1);

  ze_device_properties_t cycles{ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
  REQUIRE_OK(zeDeviceGetProperties(devices[0], &cycles));
  CHECK(cycles.timerResolution == 1000000000);

  ze_device_compute_properties_t compute{ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  REQUIRE_OK(zeDeviceGetComputeProperties(devices[0], &compute));
  CHECK(compute.maxTotalGroupSize == 1024);
  CHECK(compute.maxSharedLocalMemory == 65536);
  const uint32_t* const sizes = compute.subGroupSizes;
  CHECK(std::find(sizes, sizes + compute.numSubGroupSizes, 16) != sizes + compute.numSubGroupSizes);

  ze_device_module_properties_t module{ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES};
  REQUIRE_OK(zeDeviceGetModuleProperties(devices[0], &module));
  CHECK((module.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0);
  CHECK((module.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0);
  CHECK(module.spirvVersionSupported >= ZE_MAKE_VERSION(1, 3));

  uint32_t count = 0;
  REQUIRE_OK(zeDeviceGetMemoryProperties(devices[0], &count, nullptr));
  REQUIRE(count == 1);
  ze_device_memory_properties_t memory{ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
  REQUIRE_OK(zeDeviceGetMemoryProperties(devices[0], &count, &memory));
  CHECK(memory.totalSize > 0);

  count = 0;
  REQUIRE_OK(zeDeviceGetCommandQueueGroupProperties(devices[0], &count, nullptr));
  REQUIRE(count == 1);
  CHECK_OK(zeDeviceGetStatus(devices[0]));
}

TEST_CASE("the driver lists its extensions") {
  const auto driver = first_driver();
  uint32_t count = 0;
  REQUIRE_OK(zeDriverGetExtensionProperties(driver, &count, nullptr));
  std::vector<ze_driver_extension_properties_t> extensions(count);
  REQUIRE_OK(zeDriverGetExtensionProperties(driver, &count, extensions.data()));
  CHECK(std::any_of(extensions.begin(), extensions.end(), [](const auto& extension) {
    return std::string(extension.name) == ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME;
  }));
  void* address = nullptr;
  CHECK(zeDriverGetExtensionFunctionAddress(driver, "zeNone", &address) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("devices, tiles and a copy engine are there on request") {
  setenv("ZE_CPU_DEVICES", "2", 1);
  setenv("ZE_CPU_TILES", "3", 1);
  setenv("ZE_CPU_COPY_ENGINE", "1", 1);
  setenv("ZE_CPU_GPU", "1", 1);
  setenv("ZE_CPU_INTEGRATED", "0", 1);
  Fixture f;
  const auto devices = all_devices();
  REQUIRE(devices.size() == 2);
  const auto first = properties_of(devices[0]);
  const auto second = properties_of(devices[1]);
  CHECK(first.type == ZE_DEVICE_TYPE_GPU);
  CHECK((first.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) == 0);
  CHECK(!std::equal(first.uuid.id, first.uuid.id + sizeof(first.uuid.id), second.uuid.id));

  uint32_t count = 0;
  REQUIRE_OK(zeDeviceGetSubDevices(devices[1], &count, nullptr));
  REQUIRE(count == 3);
  std::vector<ze_device_handle_t> tiles(count);
  REQUIRE_OK(zeDeviceGetSubDevices(devices[1], &count, tiles.data()));
  const auto tile = properties_of(tiles[2]);
  CHECK((tile.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0);
  CHECK(tile.subdeviceId == 2);
  ze_bool_t reaches = false;
  REQUIRE_OK(zeDeviceCanAccessPeer(devices[0], devices[1], &reaches));
  CHECK(reaches);

  count = 0;
  REQUIRE_OK(zeDeviceGetCommandQueueGroupProperties(devices[0], &count, nullptr));
  REQUIRE(count == 2);
  std::vector<ze_command_queue_group_properties_t> groups(
      count, {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES});
  REQUIRE_OK(zeDeviceGetCommandQueueGroupProperties(devices[0], &count, groups.data()));
  CHECK((groups[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0);
  CHECK(groups[1].flags == ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);

  const auto copies = f.immediate(0, 1);
  auto* const value = f.device_memory<int>(1);
  const int seven = 7;
  REQUIRE_OK(zeCommandListAppendMemoryCopy(copies, value, &seven, 4, nullptr, 0, nullptr));
  REQUIRE_OK(f.finish(copies));
  CHECK(*value == 7);
  const auto kernel = f.kernel("plus_one");
  REQUIRE_OK(set_argument(kernel, 0, value));
  CHECK(f.launch(copies, kernel) == ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
}
