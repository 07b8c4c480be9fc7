#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "tilewright/device.hpp"
#include "webgpu/api.hpp"

namespace tilewright::webgpu {

inline constexpr std::uint32_t nvidia = 0x10de;  ///< as a vendor

struct Adapter {
  const Api* api;
  WGPUInstance instance;
  WGPUAdapter handle;     ///< of wgpu-native
  std::size_t place = 0;  ///< among what Dawn lists, whose adapters make one device each
  DeviceInfo info;
  WGPULimits limits;
  std::uint32_t vendor, device;  ///< PCI numbers
  bool packed_dots = false;      ///< its API has dot products of four bytes, which Metal lacks
  std::vector<gpu::MatrixShape> matrix_shapes{};
  std::uint32_t matrix_lanes = 0;  ///< subgroups of that size hold them; 0 where sizes differ
  std::uint32_t least_subgroup = 0, most_subgroup = 0;  ///< 0 where the library does not say
};

/// Throws InvalidArgument where a variable of the environment that webgpu reads has a value that
/// means nothing. `implementation` is what Config has.
void check_environment(std::string_view implementation);

/// All adapters of Vulkan, Metal and DirectX 12, looked up once and kept; with `debug`, of an
/// instance whose drivers check what they are given, where the library has that. `implementation`
/// is what Config has. Throws BackendUnavailable where the library cannot be opened, and in a
/// forked child of a process that has looked: drivers do not work on both sides of a fork.
std::span<const Adapter> adapters(std::string_view implementation, bool debug);

/// Those that a library finds.
std::vector<Adapter> wgpu_adapters(const Api& api, bool debug);
std::vector<Adapter> dawn_adapters(const Api& api);

/// What a device is made of; to be released after that where it is of Dawn.
WGPUAdapter handle_for_device(const Adapter& adapter);

/// What "auto" takes: the adapters of wgpu-native, in their order, each by Dawn where that reaches
/// matrix units of the same GPU. Each says why; `no_dawn` is why there is none, or empty.
std::vector<Adapter> with_matrix_units(std::vector<Adapter> wgpu, std::vector<Adapter> dawn,
                                       std::string_view no_dawn);

/// What both libraries say of an adapter.
Adapter describe(const Api& api, WGPUInstance instance, WGPUAdapter handle,
                 const WGPUAdapterInfo& info, std::size_t index);

/// What an adapter of this type is. wgpu-native calls a virtual GPU, which has a real one behind
/// it, a processor; its PCI vendor tells.
DeviceKind kind_of(WGPUAdapterType type, std::uint32_t vendor);

/// The multiple of bytes that bindings start on: the device's, and that of a vec4 of float32.
std::uint32_t binding_alignment(const WGPULimits& limits);

/// Which of the adapters to keep: a GPU that two APIs reach counts once, under the first of them.
std::vector<bool> without_doubles(std::span<const WGPUAdapterInfo> adapters);

/// The memory of the GPU with these PCI numbers, by what its driver says in `folder`; 0 where none
/// says it, or two say it differently.
std::uint64_t video_memory(std::uint32_t vendor, std::uint32_t device,
                           const std::string& folder = "/sys/class/drm");

}  // namespace tilewright::webgpu
