#pragma once

#include <cstddef>
#include <cstdint>

#include "webgpu.h"

/// What Dawn has beside the webgpu.h that it shares with wgpu-native.
namespace tilewright::webgpu::dawn {

constexpr auto feature_subgroups = static_cast<WGPUFeatureName>(0x12);
constexpr auto feature_synchronization = static_cast<WGPUFeatureName>(0x50004);
constexpr auto feature_memory_heaps = static_cast<WGPUFeatureName>(0x50014);
constexpr auto feature_subgroup_matrix = static_cast<WGPUFeatureName>(0x50034);

constexpr auto type_cache = static_cast<WGPUSType>(0x50007);
constexpr auto type_toggles = static_cast<WGPUSType>(0x5000a);
constexpr auto type_memory_heaps = static_cast<WGPUSType>(0x50013);
constexpr auto type_subgroup_matrix_configs = static_cast<WGPUSType>(0x5003b);

/// Chained to the descriptor of an instance or a device.
struct Toggles {
  WGPUChainedStruct chain;
  std::size_t enabled_count;
  const char* const* enabled;
  std::size_t disabled_count;
  const char* const* disabled;
};

/// Gives the size of what is kept under a key, or 0, and fills `value` where it has that size.
using LoadCacheData = std::size_t(std::size_t key_bytes, const std::uint8_t* key,
                                  std::size_t value_bytes, std::uint8_t* value, void* userdata1,
                                  void* userdata2);
using StoreCacheData = void(std::size_t key_bytes, const std::uint8_t* key, std::size_t value_bytes,
                            const std::uint8_t* value, void* userdata1, void* userdata2);

template <class Callback>
struct CallbackInfo {
  WGPUChainedStruct* next;
  Callback* callback;
  void* userdata1;
  void* userdata2;
};

/// Chained to the descriptor of a device. Earlier versions have other members.
struct Cache {
  WGPUChainedStruct chain;
  WGPUStringView isolation_key;
  CallbackInfo<LoadCacheData> load;
  CallbackInfo<StoreCacheData> store;
};

enum class Component : std::uint32_t { f32 = 1, f16 = 2, u32 = 3, i32 = 4, u8 = 5, i8 = 6 };

struct SubgroupMatrixConfig {
  Component component, result;
  std::uint32_t m, n, k;
  std::uint32_t least_subgroup, most_subgroup;
};

/// Chained to an adapter's info.
struct SubgroupMatrixConfigs {
  WGPUChainedStruct chain;
  std::size_t count;
  const SubgroupMatrixConfig* configs;
};

constexpr std::uint64_t heap_of_device = 1;

struct MemoryHeap {
  std::uint64_t properties;
  std::uint64_t bytes;
};

/// The same.
struct MemoryHeaps {
  WGPUChainedStruct chain;
  std::size_t count;
  const MemoryHeap* heaps;
};

enum class LoggingType : std::uint32_t { verbose = 1, info = 2, warning = 3, error = 4 };

struct LoggingCallbackInfo {
  WGPUChainedStruct* next;
  void (*callback)(LoggingType type, WGPUStringView message, void* userdata1, void* userdata2);
  void* userdata1;
  void* userdata2;
};

using GetProcAddress = WGPUProc(WGPUStringView name);
using EnumerateAdapters = std::size_t(WGPUInstance instance,
                                      const WGPURequestAdapterOptions* options, WGPUAdapter* found,
                                      std::size_t room);
using AdapterPropertiesSubgroupMatrixConfigsFreeMembers = void(SubgroupMatrixConfigs configs);
using AdapterPropertiesMemoryHeapsFreeMembers = void(MemoryHeaps heaps);
using DeviceSetLoggingCallback = void(WGPUDevice device, LoggingCallbackInfo callback);

}  // namespace tilewright::webgpu::dawn
