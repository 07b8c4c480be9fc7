#include "webgpu/adapters.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "core/environment.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tilewright::webgpu {

namespace {

std::atomic<unsigned> generation{0};

#if !defined(_WIN32)
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { ++generation; });
#endif

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

DeviceKind kind_of(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return DeviceKind::discrete;
    case WGPUAdapterType_IntegratedGPU:
      return DeviceKind::integrated;
    default:
      return DeviceKind::software;
  }
}

constexpr std::array<std::pair<std::uint32_t, const char*>, 5> features{{
    {WGPUFeatureName_ShaderF16, "float16"},
    {WGPUNativeFeature_Subgroup, "subgroups"},
    {WGPUNativeFeature_Immediates, "immediates"},
    {WGPUFeatureName_TimestampQuery, "timestamps"},
    {WGPUNativeFeature_TimestampQueryInsidePasses, "timestamps_inside_passes"},
}};

Adapter describe(WGPUAdapter handle, std::size_t index) {
  Adapter adapter{handle, {}, {}};
  WGPUAdapterInfo info{};
  api().AdapterGetInfo(handle, &info);
  api().AdapterGetLimits(handle, &adapter.limits);
  DeviceInfo& d = adapter.info;
  d.id = text("webgpu:", index);
  d.backend = "webgpu";
  d.name = view(info.device);
  d.kind = kind_of(info.adapterType);
  d.driver = text(view(info.vendor), " ", view(info.description), " (", api_name(info.backendType),
                  ", wgpu-native ", api().version, ")");
  api().AdapterInfoFreeMembers(info);
  const WGPULimits& l = adapter.limits;
  d.limits["max_buffer_bytes"] = l.maxBufferSize;
  d.limits["max_binding_bytes"] = l.maxStorageBufferBindingSize;
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

WGPUInstance the_instance = nullptr;

#if defined(__linux__)
/// Mesa's layer that sorts the devices asks the display server and writes errors to stderr where no
/// session has one. The order is not needed here, so the layer is left out there.
class DeviceSorting {
 public:
  DeviceSorting() : left_out_(!environment("XDG_RUNTIME_DIR") && !environment(variable)) {
    if (left_out_) setenv(variable, "1", 1);
  }
  ~DeviceSorting() {
    if (left_out_) unsetenv(variable);
  }

 private:
  static constexpr const char* variable = "NODEVICE_SELECT";
  bool left_out_;
};
#else
class DeviceSorting {};
#endif

std::vector<Adapter> enumerate() {
  [[maybe_unused]] const DeviceSorting sorting;
  // The primary APIs only: a GPU that Vulkan and OpenGL both reach would be listed twice.
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = WGPUInstanceBackend_Primary;
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &extras.chain;
  the_instance = api().CreateInstance(&descriptor);
  if (the_instance == nullptr) throw BackendUnavailable("webgpu: wgpu-native gave no instance");
  WGPUInstanceEnumerateAdapterOptions options{};
  options.backends = WGPUInstanceBackend_Primary;
  std::vector<WGPUAdapter> handles(
      api().InstanceEnumerateAdapters(the_instance, &options, nullptr));
  handles.resize(api().InstanceEnumerateAdapters(the_instance, &options, handles.data()));
  std::vector<Adapter> found;
  for (WGPUAdapter handle : handles) found.push_back(describe(handle, found.size()));
  return found;
}

}  // namespace

std::span<const Adapter> adapters() {
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
  // Kept to the end of the process: no call of the library is made at exit.
  static const auto* found = new std::vector<Adapter>(enumerate());
  return *found;
}

WGPUInstance instance() { return the_instance; }

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace tilewright::webgpu
