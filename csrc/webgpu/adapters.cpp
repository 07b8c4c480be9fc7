#include "webgpu/adapters.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "core/driver_start.hpp"
#include "core/fork.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "gpu/device.hpp"
#include "tilewright/error.hpp"

namespace tilewright::webgpu {

namespace {

std::string_view api_name(WGPUBackendType type) {
  switch (type) {
    case WGPUBackendType_Vulkan:
      return "Vulkan";
    case WGPUBackendType_Metal:
      return "Metal";
    case WGPUBackendType_D3D12:
      return "DirectX 12";
    default:
      return "another API";
  }
}

/// AMD, Apple, ARM, Broadcom, Imagination, Intel, NVIDIA, Qualcomm.
constexpr std::array<std::uint32_t, 8> gpu_makers{0x1002, 0x106b, 0x13b5, 0x14e4,
                                                  0x1010, 0x8086, 0x10de, 0x5143};

constexpr std::array<std::pair<std::uint32_t, const char*>, 7> features{{
    {WGPUFeatureName_ShaderF16, "float16"},
    {WGPUNativeFeature_ShaderInt64, "int64"},
    {WGPUNativeFeature_ShaderF64, "float64"},
    {WGPUNativeFeature_Subgroup, "subgroups"},
    {WGPUNativeFeature_Immediates, "immediates"},
    {WGPUFeatureName_TimestampQuery, "timestamps"},
    {WGPUNativeFeature_TimestampQueryInsidePasses, "timestamps_inside_passes"},
}};

Adapter describe(WGPUInstance instance, WGPUAdapter handle, const WGPUAdapterInfo& info,
                 std::size_t index) {
  Adapter adapter{instance, handle, {}, {}};
  api().AdapterGetLimits(handle, &adapter.limits);
  DeviceInfo& d = adapter.info;
  d.id = text("webgpu:", index);
  d.backend = "webgpu";
  d.name = view(info.device);
  d.kind = kind_of(info.adapterType, info.vendorID);
  d.driver = text(view(info.vendor), " ", view(info.description), " (", api_name(info.backendType),
                  ", wgpu-native ", api().version, ")");
  d.memory_bytes = video_memory(info.vendorID, info.deviceID);
  const WGPULimits& l = adapter.limits;
  d.limits["max_buffer_bytes"] = l.maxBufferSize;
  d.limits["max_binding_bytes"] = gpu::counted_binding_bytes(l.maxStorageBufferBindingSize);
  d.limits["min_binding_alignment"] = binding_alignment(l);
  d.limits["max_workgroups_per_dimension"] = l.maxComputeWorkgroupsPerDimension;
  d.limits["max_workgroup_size"] = l.maxComputeInvocationsPerWorkgroup;
  d.limits["max_workgroup_memory_bytes"] = l.maxComputeWorkgroupStorageSize;
  d.limits["max_immediate_bytes"] = l.maxImmediateSize;
  for (const auto& [feature, name] : features) {
    if (api().AdapterHasFeature(handle, static_cast<WGPUFeatureName>(feature)) != 0) {
      d.features.emplace_back(name);
    }
  }
  d.available = true;
  return adapter;
}

std::vector<Adapter> enumerate(bool debug) {
  // The primary APIs only: a GPU that Vulkan and OpenGL both reach would be listed twice.
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = WGPUInstanceBackend_Primary;
  extras.flags = debug ? WGPUInstanceFlag_Debugging : WGPUInstanceFlag_Empty;
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &extras.chain;
  WGPUInstance instance = api().CreateInstance(&descriptor);
  if (instance == nullptr) throw BackendUnavailable("webgpu: wgpu-native gave no instance");
  WGPUInstanceEnumerateAdapterOptions options{};
  options.backends = WGPUInstanceBackend_Primary;
  std::vector<WGPUAdapter> handles(api().InstanceEnumerateAdapters(instance, &options, nullptr));
  handles.resize(api().InstanceEnumerateAdapters(instance, &options, handles.data()));
  std::vector<WGPUAdapterInfo> infos(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) api().AdapterGetInfo(handles[i], &infos[i]);
  const std::vector<bool> keep = without_doubles(infos);
  std::vector<Adapter> found;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (keep[i]) found.push_back(describe(instance, handles[i], infos[i], found.size()));
    api().AdapterInfoFreeMembers(infos[i]);
  }
  return found;
}

}  // namespace

std::span<const Adapter> adapters(bool debug) {
  const InCore in_core;
  // Asked first: a look-up that was under way in the parent would never end here.
  constexpr unsigned nobody = ~0u;
  static std::atomic<unsigned> looked_up_in{nobody};
  unsigned looked_up = nobody;
  if (!looked_up_in.compare_exchange_strong(looked_up, fork_generation()) &&
      looked_up != fork_generation()) {
    throw BackendUnavailable(
        "webgpu: this process was forked from one that had looked for GPUs before; start it anew "
        "(multiprocessing: spawn), or fork before the first use of webgpu");
  }
  const std::lock_guard starts(driver_start());
  // Kept to the end of the process: no call of the library is made at exit.
  if (debug) {
    static const auto* found = new std::vector<Adapter>(enumerate(true));
    return *found;
  }
  static const auto* found = new std::vector<Adapter>(enumerate(false));
  return *found;
}

DeviceKind kind_of(WGPUAdapterType type, std::uint32_t vendor) {
  if (type == WGPUAdapterType_IntegratedGPU) return DeviceKind::integrated;
  const bool made = std::find(gpu_makers.begin(), gpu_makers.end(), vendor) != gpu_makers.end();
  return type == WGPUAdapterType_DiscreteGPU || made ? DeviceKind::discrete : DeviceKind::software;
}

std::uint32_t binding_alignment(const WGPULimits& limits) {
  constexpr std::uint32_t vector_bytes = 16;
  return std::max(limits.minStorageBufferOffsetAlignment, vector_bytes);
}

std::vector<bool> without_doubles(std::span<const WGPUAdapterInfo> adapters) {
  std::vector<bool> keep(adapters.size(), true);
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (adapters[i].vendorID == adapters[j].vendorID &&
          adapters[i].deviceID == adapters[j].deviceID &&
          adapters[i].backendType != adapters[j].backendType) {
        keep[i] = false;
      }
    }
  }
  return keep;
}

std::uint64_t video_memory(std::uint32_t vendor, std::uint32_t device, const std::string& folder) {
  constexpr int most_cards = 16;
  std::uint64_t found = 0;
  for (int card = 0; card < most_cards; ++card) {
    const auto number = [&](const char* name) {
      std::ifstream file(text(folder, "/card", card, "/device/", name));
      std::string digits;
      file >> digits;
      return std::strtoull(digits.c_str(), nullptr, 0);
    };
    if (number("vendor") != vendor || number("device") != device) continue;
    const std::uint64_t bytes = number("mem_info_vram_total");
    if (found != 0 && bytes != found) return 0;
    found = bytes;
  }
  return found;
}

}  // namespace tilewright::webgpu
