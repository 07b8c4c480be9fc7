#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"
#include "webgpu/adapters.hpp"

// The adapters that Dawn finds, and what it alone says of them.
namespace tilewright::webgpu {

namespace {

/// Experimental features, such as matrix units; float16 on NVIDIA's Vulkan, where Dawn leaves it
/// out otherwise.
constexpr std::array toggles{"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"};

constexpr std::array<std::pair<WGPUFeatureName, const char*>, 4> features{{
    {WGPUFeatureName_ShaderF16, "float16"},
    {dawn::feature_subgroups, "subgroups"},
    {WGPUFeatureName_TimestampQuery, "timestamps"},
    {dawn::feature_subgroup_matrix, "matrix_units"},
}};

/// For an instance and for its adapters, each of which takes those that are its own.
dawn::Toggles wanted_toggles() {
  return {{nullptr, dawn::type_toggles}, toggles.size(), toggles.data(), 0, nullptr};
}

/// The best adapter of a kind, or null.
WGPUAdapter request(const Api& api, WGPUInstance instance,
                    const WGPURequestAdapterOptions& options) {
  struct Answer {
    WGPUAdapter adapter = nullptr;
    bool is_there = false;
  } answer;
  WGPURequestAdapterCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter adapter, WGPUStringView, void* out,
                         void*) { *static_cast<Answer*>(out) = {adapter, true}; };
  api.InstanceRequestAdapter(instance, &options, callback);
  while (!answer.is_there) api.InstanceProcessEvents(instance);
  return answer.adapter;
}

std::vector<WGPUAdapter> enumerate(const Api& api, WGPUInstance instance) {
  dawn::Toggles wanted = wanted_toggles();
  WGPURequestAdapterOptions options{};
  options.nextInChain = &wanted.chain;
  std::vector<WGPUAdapter> found;
  if (api.enumerate_adapters != nullptr) {
    found.resize(api.enumerate_adapters(instance, &options, nullptr, 0));
    const std::size_t written =
        api.enumerate_adapters(instance, &options, found.data(), found.size());
    found.resize(std::min(found.size(), written));
    return found;
  }
  for (const auto type : {WGPUBackendType_Vulkan, WGPUBackendType_Metal, WGPUBackendType_D3D12}) {
    options.backendType = type;
    for (const auto power : {WGPUPowerPreference_HighPerformance, WGPUPowerPreference_LowPower}) {
      options.powerPreference = power;
      for (const bool software : {false, true}) {
        options.forceFallbackAdapter = software ? 1 : 0;
        if (WGPUAdapter adapter = request(api, instance, options)) found.push_back(adapter);
      }
    }
  }
  return found;
}

bool is_primary(WGPUBackendType type) {
  return type == WGPUBackendType_Vulkan || type == WGPUBackendType_Metal ||
         type == WGPUBackendType_D3D12;
}

std::optional<DType> dtype_of(dawn::Component component) {
  switch (component) {
    case dawn::Component::f32:
      return DType::float32;
    case dawn::Component::f16:
      return DType::float16;
    case dawn::Component::u32:
      return DType::uint32;
    case dawn::Component::i32:
      return DType::int32;
    case dawn::Component::u8:
      return DType::uint8;
    case dawn::Component::i8:
      return DType::int8;
  }
  return {};
}

void add_shapes(Adapter& adapter, std::span<const dawn::SubgroupMatrixConfig> configs) {
  for (const dawn::SubgroupMatrixConfig& config : configs) {
    const auto in = dtype_of(config.component);
    const auto out = dtype_of(config.result);
    // A component of a later Dawn; or subgroups of a size that a kernel would have to ask for.
    // Those of NVIDIA's GPUs have one size, also where Dawn gives a range.
    const bool fits =
        adapter.vendor == nvidia || (config.least_subgroup <= adapter.least_subgroup &&
                                     config.most_subgroup >= adapter.most_subgroup);
    if (!in || !out || !fits) continue;
    if (config.least_subgroup == config.most_subgroup) adapter.matrix_lanes = config.most_subgroup;
    const gpu::MatrixShape shape{*in, *out, config.m, config.n, config.k};
    if (std::ranges::count(adapter.matrix_shapes, shape) > 0) continue;
    adapter.matrix_shapes.push_back(shape);
    adapter.info.matrix_shapes.push_back(text(to_string(*in), " to ", to_string(*out), ", ",
                                              config.m, "x", config.n, "x", config.k));
  }
}

void add_memory(Adapter& adapter, std::span<const dawn::MemoryHeap> heaps) {
  // Elsewhere a heap of the device is the host's memory.
  if (adapter.info.kind != DeviceKind::discrete || adapter.info.memory_bytes != 0) return;
  for (const dawn::MemoryHeap& heap : heaps) {
    if ((heap.properties & dawn::heap_of_device) == 0) continue;
    adapter.info.memory_bytes = std::max(adapter.info.memory_bytes, heap.bytes);
  }
}

std::optional<Adapter> look(const Api& api, WGPUInstance instance, WGPUAdapter handle,
                            std::size_t index) {
  const bool says_shapes = api.AdapterHasFeature(handle, dawn::feature_subgroup_matrix) != 0;
  const bool says_heaps = api.AdapterHasFeature(handle, dawn::feature_memory_heaps) != 0;
  dawn::SubgroupMatrixConfigs configs{{nullptr, dawn::type_subgroup_matrix_configs}, 0, nullptr};
  dawn::MemoryHeaps heaps{{nullptr, dawn::type_memory_heaps}, 0, nullptr};
  WGPUAdapterInfo info{};
  const auto ask = [&](WGPUChainedStruct& chain) {
    chain.next = info.nextInChain;
    info.nextInChain = &chain;
  };
  if (says_shapes) ask(configs.chain);
  if (says_heaps) ask(heaps.chain);
  if (api.AdapterGetInfo(handle, &info) != WGPUStatus_Success) return {};
  std::optional<Adapter> adapter;
  if (is_primary(info.backendType)) {
    adapter = describe(api, instance, handle, info, index);
    adapter->least_subgroup = info.subgroupMinSize;
    adapter->most_subgroup = info.subgroupMaxSize;
    if (says_shapes) add_shapes(*adapter, {configs.configs, configs.count});
    if (says_heaps) add_memory(*adapter, {heaps.heaps, heaps.count});
    for (const auto& [feature, name] : features) {
      const bool has_it = feature == dawn::feature_subgroup_matrix
                              ? !adapter->matrix_shapes.empty()
                              : api.AdapterHasFeature(handle, feature) != 0;
      if (has_it) adapter->info.features.emplace_back(name);
    }
    if (adapter->limits.maxImmediateSize > 0) adapter->info.features.emplace_back("immediates");
  }
  if (says_shapes) api.AdapterPropertiesSubgroupMatrixConfigsFreeMembers(configs);
  if (says_heaps) api.AdapterPropertiesMemoryHeapsFreeMembers(heaps);
  info.nextInChain = nullptr;
  api.AdapterInfoFreeMembers(info);
  return adapter;
}

}  // namespace

std::vector<Adapter> dawn_adapters(const Api& api) {
  dawn::Toggles wanted = wanted_toggles();
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &wanted.chain;
  WGPUInstance instance = api.CreateInstance(&descriptor);
  if (instance == nullptr)
    throw BackendUnavailable(text("webgpu: ", api.name, " gave no instance"));
  std::vector<Adapter> found;
  std::size_t place = 0;
  for (WGPUAdapter handle : enumerate(api, instance)) {
    auto adapter = look(api, instance, handle, found.size());
    // A GPU that is asked for in several ways, or reached by several APIs, counts once; of equal
    // ones only an enumeration knows how many there are.
    const bool is_new =
        adapter && std::ranges::none_of(found, [&](const Adapter& other) {
          return other.vendor == adapter->vendor && other.device == adapter->device &&
                 (api.enumerate_adapters == nullptr || other.info.driver != adapter->info.driver);
        });
    if (is_new) {
      adapter->handle = nullptr;
      adapter->place = place;
      found.push_back(std::move(*adapter));
    }
    api.AdapterRelease(handle);
    ++place;
  }
  return found;
}

WGPUAdapter handle_for_device(const Adapter& adapter) {
  if (!adapter.api->is_dawn()) return adapter.handle;
  const std::vector<WGPUAdapter> all = enumerate(*adapter.api, adapter.instance);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != adapter.place) adapter.api->AdapterRelease(all[i]);
  }
  if (adapter.place < all.size()) return all[adapter.place];
  throw BackendUnavailable(text(adapter.info.id, ": ", adapter.info.name, " is no longer there"));
}

}  // namespace tilewright::webgpu
