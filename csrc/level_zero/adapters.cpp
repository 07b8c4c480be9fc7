#include "level_zero/adapters.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>

#include "core/driver_start.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "level_zero/absence.hpp"
#include "level_zero/results.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {

namespace {

/// What a call gives that is asked first for the number of its answers.
template <class Item, class Call, class... Of>
std::vector<Item> all_of(std::string_view name, Call* call, Of... of) {
  std::uint32_t count = 0;
  check(call(of..., &count, static_cast<Item*>(nullptr)), name);
  std::vector<Item> items(count);
  if (count > 0) check(call(of..., &count, items.data()), name);
  items.resize(std::min<std::size_t>(count, items.size()));
  return items;
}

/// A name of fixed room, which may lack its end.
template <std::size_t room>
std::string name_in(const char (&name)[room]) {
  return {name, std::find(name, name + room, '\0')};
}

struct Driver {
  ze_driver_handle_t handle = nullptr;
  ze_api_version_t api_version = ZE_API_VERSION_1_0;
  std::uint32_t version = 0;
  bool large_buffers = false;
};

Driver describe_driver(ze_driver_handle_t handle) {
  Driver driver{handle};
  check(api().DriverGetApiVersion(handle, &driver.api_version), "zeDriverGetApiVersion", handle);
  ze_driver_properties_t properties;
  check(api().DriverGetProperties(handle, &properties), "zeDriverGetProperties", handle);
  driver.version = properties.driverVersion;
  const auto extensions = all_of<ze_driver_extension_properties_t>(
      "zeDriverGetExtensionProperties", api().DriverGetExtensionProperties, handle);
  driver.large_buffers = std::ranges::any_of(extensions, [](const auto& extension) {
    return name_in(extension.name) == "ZE_experimental_relaxed_allocation_limits";
  });
  return driver;
}

DeviceKind kind_of(const ze_device_properties_t& properties) {
  if (properties.type == ZE_DEVICE_TYPE_CPU) return DeviceKind::software;
  const bool integrated = (properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0;
  return integrated ? DeviceKind::integrated : DeviceKind::discrete;
}

/// How long a tick of kernel timestamps is. Since 1.2 drivers give ticks a second, before that
/// they gave whole nanoseconds a tick.
double tick_of(const Driver& driver, const ze_device_properties_t& properties) {
  if (properties.kernelTimestampValidBits == 0 || properties.timerResolution == 0) return 0;
  const auto resolution = static_cast<double>(properties.timerResolution);
  return driver.api_version >= ZE_API_VERSION_1_2 ? 1e9 / resolution : resolution;
}

void find_queue_groups(Adapter& adapter) {
  const auto groups = all_of<ze_command_queue_group_properties_t>(
      "zeDeviceGetCommandQueueGroupProperties", api().DeviceGetCommandQueueGroupProperties,
      adapter.handle);
  std::optional<std::uint32_t> compute;
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    if (groups[i].numQueues == 0) continue;
    const bool computes = (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
    const bool copies = (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) != 0;
    if (computes && !compute) compute = i;
    if (copies && !computes && !adapter.copy_group) adapter.copy_group = i;
  }
  if (!compute) throw DeviceError("level-zero: it has no queue that computes");
  adapter.compute_group = *compute;
}

std::uint64_t memory_of(ze_device_handle_t device) {
  const auto memories = all_of<ze_device_memory_properties_t>(
      "zeDeviceGetMemoryProperties", api().DeviceGetMemoryProperties, device);
  std::uint64_t bytes = 0;
  for (const auto& memory : memories) bytes += memory.totalSize;
  return bytes;
}

void describe_limits(Adapter& adapter) {
  const auto& compute = adapter.compute;
  DeviceInfo& d = adapter.info;
  d.memory_bytes = memory_of(adapter.handle);
  d.limits["max_buffer_bytes"] = adapter.large_buffers && d.memory_bytes != 0
                                     ? d.memory_bytes
                                     : adapter.properties.maxMemAllocSize;
  // So that even the largest ones' work-items are counted in 31 bits.
  constexpr std::uint32_t most_groups = (1u << 31) / 1024 - 1;
  d.limits["max_workgroups_per_dimension"] = std::min(
      {compute.maxGroupCountX, compute.maxGroupCountY, compute.maxGroupCountZ, most_groups});
  d.limits["max_workgroup_size"] = compute.maxTotalGroupSize;
  d.limits["max_workgroup_memory_bytes"] = compute.maxSharedLocalMemory;
  d.limits["max_argument_bytes"] = adapter.module.maxArgumentsSize;
  if ((adapter.module.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0) d.features.emplace_back("float16");
  if (compute.numSubGroupSizes > 0) d.features.emplace_back("subgroups");
  if (adapter.dpas) d.features.emplace_back("matrix_units");
  if (adapter.tick_ns > 0) d.features.emplace_back("timestamps");
  if (adapter.large_buffers) d.features.emplace_back("large_buffers");
  if (adapter.copy_group) d.features.emplace_back("copy_engine");
}

/// An extension of Intel's driver, 24.05 and later; others leave it as it is.
struct DotProducts {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00030013);
  void* pNext = nullptr;
  std::uint32_t flags = 0;
};
constexpr std::uint32_t flag_dpas = 2;

void read_module_properties(Adapter& adapter) {
  DotProducts products;
  adapter.module.pNext = &products;
  check(api().DeviceGetModuleProperties(adapter.handle, &adapter.module),
        "zeDeviceGetModuleProperties");
  adapter.module.pNext = nullptr;
  adapter.dpas = (products.flags & flag_dpas) != 0;
}

/// `tile` counts the tiles of one GPU.
Adapter describe(const Driver& driver, ze_device_handle_t handle, std::optional<std::size_t> tile) {
  Adapter adapter;
  adapter.driver = driver.handle;
  adapter.handle = handle;
  adapter.driver_version = driver.version;
  adapter.api_version = driver.api_version;
  adapter.large_buffers = driver.large_buffers;
  if (driver.api_version >= ZE_API_VERSION_1_2) {
    adapter.properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  }
  DeviceInfo& d = adapter.info;
  d.backend = "level-zero";
  try {
    check(api().DeviceGetProperties(handle, &adapter.properties), "zeDeviceGetProperties");
    d.name = name_in(adapter.properties.name);
    if (tile) d.name += text(" (tile ", *tile, ")");
    d.kind = kind_of(adapter.properties);
    const std::uint32_t v = driver.version;
    d.driver = text("Level Zero ", driver.api_version >> 16, ".", driver.api_version & 0xffff,
                    " (driver ", v >> 24, ".", (v >> 16) & 0xff, ".", v & 0xffff, ")");
    check(api().DeviceGetComputeProperties(handle, &adapter.compute),
          "zeDeviceGetComputeProperties");
    read_module_properties(adapter);
    adapter.tick_ns = tick_of(driver, adapter.properties);
    find_queue_groups(adapter);
    describe_limits(adapter);
    d.available = true;
  } catch (const Error& error) {
    d.reason = error.what();
  }
  return adapter;
}

bool computes(const Adapter& adapter) {
  return !adapter.info.available || adapter.properties.type == ZE_DEVICE_TYPE_GPU ||
         adapter.properties.type == ZE_DEVICE_TYPE_CPU;
}

/// What a driver that fails is listed as.
Adapter failed(const std::string& reason) {
  Adapter adapter;
  adapter.info.backend = "level-zero";
  adapter.info.name = "a Level Zero driver";
  adapter.info.kind = DeviceKind::discrete;
  adapter.info.reason = reason;
  return adapter;
}

std::vector<Adapter> enumerate() {
  if (const ze_result_t result = api().Init(0); result != ZE_RESULT_SUCCESS) {
    throw BackendUnavailable(why_no_driver(result, look_around()));
  }
  std::vector<ze_driver_handle_t> drivers;
  try {
    drivers = all_of<ze_driver_handle_t>("zeDriverGet", api().DriverGet);
  } catch (const DeviceError& error) {
    throw BackendUnavailable(error.what());
  }
  std::vector<Adapter> found;
  std::vector<Adapter> tiles;
  for (ze_driver_handle_t handle : drivers) {
    try {
      const Driver driver = describe_driver(handle);
      const auto devices = all_of<ze_device_handle_t>("zeDeviceGet", api().DeviceGet, handle);
      for (ze_device_handle_t device : devices) {
        Adapter adapter = describe(driver, device, std::nullopt);
        if (!computes(adapter)) continue;
        found.push_back(std::move(adapter));
        const auto parts =
            all_of<ze_device_handle_t>("zeDeviceGetSubDevices", api().DeviceGetSubDevices, device);
        for (std::size_t i = 0; i < parts.size(); ++i) {
          tiles.push_back(describe(driver, parts[i], i));
        }
      }
    } catch (const Error& error) {
      found.push_back(failed(error.what()));
    }
  }
  if (found.empty()) throw BackendUnavailable(why_no_device(look_around()));
  found.insert(found.end(), tiles.begin(), tiles.end());
  for (std::size_t i = 0; i < found.size(); ++i) found[i].info.id = text("level-zero:", i);
  return found;
}

}  // namespace

std::span<const Adapter> adapters() {
  const InCore in_core;
  // Asked first: a look-up that was under way in the parent would never end here.
  constexpr unsigned nobody = ~0u;
  static std::atomic<unsigned> looked_up_in{nobody};
  unsigned looked_up = nobody;
  if (!looked_up_in.compare_exchange_strong(looked_up, fork_generation()) &&
      looked_up != fork_generation()) {
    throw BackendUnavailable(
        "level-zero: this process was forked from one that had looked for GPUs before; start it "
        "anew (multiprocessing: spawn), or fork before the first use of level-zero");
  }
  const std::lock_guard starts(driver_start());
  // Kept to the end of the process: no call of the library is made at exit.
  static const auto* found = new std::vector<Adapter>(enumerate());
  return *found;
}

}  // namespace tilewright::level_zero
