#include <array>
#include <utility>

#include "tilewright/error.hpp"
#include "webgpu/adapters.hpp"

// The adapters that wgpu-native lists.
namespace tilewright::webgpu {

namespace {

constexpr std::array<std::pair<std::uint32_t, const char*>, 7> features{{
    {WGPUFeatureName_ShaderF16, "float16"},
    {WGPUNativeFeature_ShaderInt64, "int64"},
    {WGPUNativeFeature_ShaderF64, "float64"},
    {WGPUNativeFeature_Subgroup, "subgroups"},
    {WGPUNativeFeature_Immediates, "immediates"},
    {WGPUFeatureName_TimestampQuery, "timestamps"},
    {WGPUNativeFeature_TimestampQueryInsidePasses, "timestamps_inside_passes"},
}};

}  // namespace

std::vector<Adapter> wgpu_adapters(const Api& api, bool debug) {
  // The primary APIs only: a GPU that Vulkan and OpenGL both reach would be listed twice.
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = WGPUInstanceBackend_Primary;
  extras.flags = debug ? WGPUInstanceFlag_Debugging : WGPUInstanceFlag_Empty;
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &extras.chain;
  WGPUInstance instance = api.CreateInstance(&descriptor);
  if (instance == nullptr) throw BackendUnavailable("webgpu: wgpu-native gave no instance");
  WGPUInstanceEnumerateAdapterOptions options{};
  options.backends = WGPUInstanceBackend_Primary;
  std::vector<WGPUAdapter> handles(api.InstanceEnumerateAdapters(instance, &options, nullptr));
  handles.resize(api.InstanceEnumerateAdapters(instance, &options, handles.data()));
  std::vector<WGPUAdapterInfo> infos(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) api.AdapterGetInfo(handles[i], &infos[i]);
  const std::vector<bool> keep = without_doubles(infos);
  std::vector<Adapter> found;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (keep[i]) {
      Adapter adapter = describe(api, instance, handles[i], infos[i], found.size());
      for (const auto& [feature, name] : features) {
        if (api.AdapterHasFeature(handles[i], static_cast<WGPUFeatureName>(feature)) != 0) {
          adapter.info.features.emplace_back(name);
        }
      }
      // The library says nothing of them.
      if (adapter.vendor == nvidia) adapter.least_subgroup = adapter.most_subgroup = 32;
      found.push_back(std::move(adapter));
    }
    api.AdapterInfoFreeMembers(infos[i]);
  }
  return found;
}

}  // namespace tilewright::webgpu
