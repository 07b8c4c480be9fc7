#include "webgpu/adapters.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "core/driver_start.hpp"
#include "core/environment.hpp"
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

constexpr std::string_view automatic = "auto";

std::string asked_implementation(std::string_view config) {
  if (config != automatic) return std::string(config);
  return environment_word("TILEWRIGHT_WEBGPU", {automatic, "wgpu", "dawn"})
      .value_or(std::string(automatic));
}

void explain(std::vector<Adapter>& adapters, const std::string& why) {
  for (Adapter& adapter : adapters) adapter.info.implementation_why = why;
}

bool stands_for_gpu(const Adapter& adapter) { return adapter.info.kind == DeviceKind::software; }

std::vector<Adapter> found_by(const std::string& implementation, const std::string& why,
                              bool debug) {
  auto found =
      implementation == "dawn" ? dawn_adapters(dawn_api()) : wgpu_adapters(wgpu_native(), debug);
  explain(found, why);
  return found;
}

std::vector<Adapter> found_automatically(bool debug) {
  auto found = wgpu_adapters(wgpu_native(), debug);
  // Dawn writes to stderr what it does not like about drivers that stand for a GPU.
  if (std::ranges::all_of(found, stands_for_gpu)) {
    std::string why = "a GPU in software has no matrix units";
    for (const char* of_dawn : {"TILEWRIGHT_DAWN_LIBRARY", "TILEWRIGHT_DAWN_TOGGLES"}) {
      if (environment(of_dawn)) why += text("; ", of_dawn, " is for Dawn, and is not used");
    }
    explain(found, why);
    return found;
  }
  std::vector<Adapter> dawn;
  std::string no_dawn;
  try {
    dawn = dawn_adapters(dawn_api());
  } catch (const Error& error) {
    no_dawn = error.what();
  }
  return with_matrix_units(std::move(found), std::move(dawn), no_dawn);
}

}  // namespace

void check_environment(std::string_view implementation) {
  (void)asked_implementation(implementation);
  for (const char* flag : {"TILEWRIGHT_WEBGPU_IMMEDIATES", "TILEWRIGHT_WEBGPU_THREAD"}) {
    (void)environment_flag(flag, true);
  }
}

std::span<const Adapter> adapters(std::string_view implementation, bool debug) {
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
  const std::string asked = asked_implementation(implementation);
  // Kept to the end of the process: no call of the library is made at exit.
  static auto* kept = new std::map<std::pair<std::string, bool>, std::vector<Adapter>>;
  const std::pair key(asked, debug);
  if (const auto found = kept->find(key); found != kept->end()) return found->second;
  const std::string why =
      text(implementation == automatic ? "TILEWRIGHT_WEBGPU" : "implementation", " is ", asked);
  return (*kept)[key] =
             asked == automatic ? found_automatically(debug) : found_by(asked, why, debug);
}

std::vector<Adapter> with_matrix_units(std::vector<Adapter> wgpu, std::vector<Adapter> dawn,
                                       std::string_view no_dawn) {
  for (Adapter& adapter : wgpu) {
    const auto same = std::ranges::find_if(dawn, [&](const Adapter& other) {
      return other.vendor == adapter.vendor && other.device == adapter.device;
    });
    std::string& why = adapter.info.implementation_why;
    if (!no_dawn.empty()) {
      why = text("there is no Dawn (", no_dawn, ")");
    } else if (same == dawn.end()) {
      why = "Dawn does not list this GPU";
    } else if (same->matrix_shapes.empty()) {
      why = "Dawn reports no matrix units of this GPU";
    } else {
      const std::string id = adapter.info.id;
      adapter = *same;
      adapter.info.id = id;
      why = "it reaches this GPU's matrix units";
    }
    // Of two equal GPUs each has its own.
    if (same != dawn.end()) dawn.erase(same);
  }
  return wgpu;
}

Adapter describe(const Api& api, WGPUInstance instance, WGPUAdapter handle,
                 const WGPUAdapterInfo& info, std::size_t index) {
  Adapter adapter{&api, instance, handle, 0, {}, {}, info.vendorID, info.deviceID};
  adapter.packed_dots = info.backendType != WGPUBackendType_Metal;
  api.AdapterGetLimits(handle, &adapter.limits);
  DeviceInfo& d = adapter.info;
  d.id = text("webgpu:", index);
  d.backend = "webgpu";
  d.implementation = api.is_dawn() ? "dawn" : "wgpu";
  d.name = view(info.device);
  d.kind = kind_of(info.adapterType, info.vendorID);
  d.driver = text(view(info.vendor), " ", view(info.description), " (", api_name(info.backendType),
                  ", ", api.name, ")");
  d.memory_bytes = video_memory(info.vendorID, info.deviceID);
  const WGPULimits& l = adapter.limits;
  d.limits["max_buffer_bytes"] = l.maxBufferSize;
  d.limits["max_binding_bytes"] = gpu::counted_binding_bytes(l.maxStorageBufferBindingSize);
  d.limits["min_binding_alignment"] = binding_alignment(l);
  d.limits["max_workgroups_per_dimension"] = l.maxComputeWorkgroupsPerDimension;
  d.limits["max_workgroup_size"] = l.maxComputeInvocationsPerWorkgroup;
  d.limits["max_workgroup_memory_bytes"] = l.maxComputeWorkgroupStorageSize;
  d.limits["max_immediate_bytes"] = l.maxImmediateSize;
  d.available = true;
  return adapter;
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
