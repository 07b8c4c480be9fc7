// What Dawn's adapters say, by tables of functions that stand for it, and which library "auto"
// takes.

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "tilewright/error.hpp"
#include "webgpu/adapters.hpp"

namespace tilewright::webgpu {
namespace {

constexpr std::uint32_t amd = 0x1002, intel = 0x8086, nvidia = 0x10de;

/// A GPU that Dawn lists.
struct Gpu {
  std::uint32_t vendor, device;
  WGPUBackendType api = WGPUBackendType_Vulkan;
  std::vector<dawn::SubgroupMatrixConfig> matrices = {};
  std::vector<dawn::MemoryHeap> heaps = {};
  std::uint32_t least_subgroup = 32, most_subgroup = 32;
};

/// The machine of a test; adapters are pointers into it.
std::vector<Gpu> gpus;
int freed_matrices = 0, freed_heaps = 0, released = 0;

const Gpu& of(WGPUAdapter adapter) { return *reinterpret_cast<const Gpu*>(adapter); }
WGPUAdapter handle(Gpu& gpu) { return reinterpret_cast<WGPUAdapter>(&gpu); }

template <class Chained>
Chained* chained(WGPUChainedStruct* chain, WGPUSType type) {
  for (; chain != nullptr; chain = chain->next) {
    if (chain->sType == type) return reinterpret_cast<Chained*>(chain);
  }
  return nullptr;
}

Api fake(bool enumerates) {
  freed_matrices = freed_heaps = released = 0;
  Api api;
  api.implementation = Implementation::dawn;
  api.name = "Dawn of a test";
  api.CreateInstance = [](const WGPUInstanceDescriptor* descriptor) {
    const auto* toggles = chained<dawn::Toggles>(
        const_cast<WGPUChainedStruct*>(descriptor->nextInChain), dawn::type_toggles);
    REQUIRE(toggles != nullptr);
    const std::set<std::string> enabled(toggles->enabled,
                                        toggles->enabled + toggles->enabled_count);
    CHECK(enabled.contains("allow_unsafe_apis"));
    CHECK(enabled.contains("vulkan_enable_f16_on_nvidia"));
    return reinterpret_cast<WGPUInstance>(&gpus);
  };
  api.AdapterGetInfo = [](WGPUAdapter adapter, WGPUAdapterInfo* info) {
    const Gpu& gpu = of(adapter);
    info->vendorID = gpu.vendor;
    info->deviceID = gpu.device;
    info->backendType = gpu.api;
    info->adapterType = WGPUAdapterType_DiscreteGPU;
    info->subgroupMinSize = gpu.least_subgroup;
    info->subgroupMaxSize = gpu.most_subgroup;
    if (auto* configs = chained<dawn::SubgroupMatrixConfigs>(info->nextInChain,
                                                             dawn::type_subgroup_matrix_configs)) {
      configs->count = gpu.matrices.size();
      configs->configs = gpu.matrices.data();
    }
    if (auto* heaps = chained<dawn::MemoryHeaps>(info->nextInChain, dawn::type_memory_heaps)) {
      heaps->count = gpu.heaps.size();
      heaps->heaps = gpu.heaps.data();
    }
    return WGPUStatus_Success;
  };
  api.AdapterInfoFreeMembers = [](WGPUAdapterInfo info) { CHECK(info.nextInChain == nullptr); };
  api.AdapterGetLimits = [](WGPUAdapter, WGPULimits* limits) {
    limits->maxImmediateSize = 64;
    return WGPUStatus_Success;
  };
  api.AdapterHasFeature = [](WGPUAdapter adapter, WGPUFeatureName feature) {
    const Gpu& gpu = of(adapter);
    const bool has = (feature == dawn::feature_subgroup_matrix && !gpu.matrices.empty()) ||
                     (feature == dawn::feature_memory_heaps && !gpu.heaps.empty()) ||
                     feature == WGPUFeatureName_ShaderF16;
    return has ? WGPUBool{1} : WGPUBool{0};
  };
  api.AdapterPropertiesSubgroupMatrixConfigsFreeMembers = [](dawn::SubgroupMatrixConfigs) {
    ++freed_matrices;
  };
  api.AdapterPropertiesMemoryHeapsFreeMembers = [](dawn::MemoryHeaps) { ++freed_heaps; };
  api.AdapterRelease = [](WGPUAdapter) { ++released; };
  api.InstanceProcessEvents = [](WGPUInstance) {};
  api.InstanceRequestAdapter = [](WGPUInstance, const WGPURequestAdapterOptions* options,
                                  WGPURequestAdapterCallbackInfo callback) {
    WGPUAdapter found = nullptr;
    for (Gpu& gpu : gpus) {
      const bool fits = gpu.api == options->backendType && options->forceFallbackAdapter == 0;
      if (fits && found == nullptr) found = handle(gpu);
    }
    callback.callback(
        found == nullptr ? WGPURequestAdapterStatus_Unavailable : WGPURequestAdapterStatus_Success,
        found, {}, callback.userdata1, callback.userdata2);
    return WGPUFuture{};
  };
  if (enumerates) {
    api.enumerate_adapters = [](WGPUInstance, const WGPURequestAdapterOptions*, WGPUAdapter* found,
                                std::size_t room) {
      for (std::size_t i = 0; i < std::min(room, gpus.size()); ++i) found[i] = handle(gpus[i]);
      return gpus.size();
    };
  }
  return api;
}

constexpr auto f32 = dawn::Component::f32, f16 = dawn::Component::f16, i32 = dawn::Component::i32,
               i8 = dawn::Component::i8;

TEST_CASE("dawn: matrix shapes are what the adapter says, each once") {
  gpus = {{.vendor = intel,
           .device = 7,
           .matrices = {{f16, f32, 16, 8, 16, 32, 32},
                        {f16, f32, 16, 8, 16, 32, 32},
                        {f16, f16, 24, 5, 3, 4, 128},
                        {i8, i32, 16, 16, 32, 16, 64},
                        // Of a later Dawn, and of subgroups that this GPU has only when asked.
                        {static_cast<dawn::Component>(99), f32, 8, 8, 8, 32, 32},
                        {f16, f32, 8, 8, 8, 16, 16},
                        {f16, f32, 8, 8, 8, 64, 64}}}};
  const Api api = fake(true);
  const std::vector<Adapter> found = dawn_adapters(api);
  REQUIRE(found.size() == 1);
  const Adapter& adapter = found.front();
  CHECK(adapter.matrix_shapes ==
        std::vector<gpu::MatrixShape>{{DType::float16, DType::float32, 16, 8, 16},
                                      {DType::float16, DType::float16, 24, 5, 3},
                                      {DType::int8, DType::int32, 16, 16, 32}});
  CHECK(adapter.info.matrix_shapes == std::vector<std::string>{"float16 to float32, 16x8x16",
                                                               "float16 to float16, 24x5x3",
                                                               "int8 to int32, 16x16x32"});
  CHECK(adapter.info.features == std::vector<std::string>{"float16", "matrix_units", "immediates"});
  CHECK(adapter.least_subgroup == 32);
  CHECK(adapter.most_subgroup == 32);
  CHECK(adapter.info.id == "webgpu:0");
  CHECK(adapter.info.implementation == "dawn");
  CHECK(freed_matrices == 1);
  CHECK(freed_heaps == 0);
  CHECK(released == 1);
}

TEST_CASE("dawn: subgroups of NVIDIA's GPUs have the size of their matrices") {
  gpus = {{.vendor = nvidia,
           .device = 7,
           .matrices = {{f16, f32, 16, 8, 16, 32, 32}},
           .least_subgroup = 4,
           .most_subgroup = 128}};
  const Api api = fake(true);
  const Adapter adapter = dawn_adapters(api).front();
  CHECK(adapter.matrix_shapes ==
        std::vector<gpu::MatrixShape>{{DType::float16, DType::float32, 16, 8, 16}});
  CHECK(adapter.matrix_lanes == 32);
}

TEST_CASE("dawn: shapes that no kernel reaches are no matrix units") {
  gpus = {{.vendor = amd,
           .device = 1,
           .matrices = {{f16, f32, 16, 16, 16, 64, 64}},
           .least_subgroup = 32,
           .most_subgroup = 64}};
  const Api api = fake(true);
  const Adapter adapter = dawn_adapters(api).front();
  CHECK(adapter.matrix_shapes.empty());
  CHECK(adapter.info.features == std::vector<std::string>{"float16", "immediates"});
}

TEST_CASE("dawn: the memory of a GPU is its largest heap") {
  gpus = {{.vendor = nvidia,
           .device = 7,
           .heaps = {{dawn::heap_of_device | 2, 1000}, {2, 9000}, {dawn::heap_of_device, 5000}}}};
  const Api api = fake(true);
  CHECK(dawn_adapters(api).front().info.memory_bytes == 5000);
  CHECK(freed_heaps == 1);
}

TEST_CASE("dawn: each GPU once, equal ones as often as they are listed") {
  gpus = {{amd, 1},
          {nvidia, 7},
          {nvidia, 7},
          {amd, 1, WGPUBackendType_D3D12},
          {intel, 3, WGPUBackendType_OpenGL}};
  const Api listing = fake(true);
  std::vector<Adapter> found = dawn_adapters(listing);
  REQUIRE(found.size() == 3);
  CHECK(found[0].vendor == amd);
  CHECK(found[1].vendor == nvidia);
  CHECK(found[2].vendor == nvidia);
  CHECK(found[2].info.id == "webgpu:2");
  CHECK(found[2].place == 2);
  CHECK(released == 5);
  // Asked for one by one, no two of a kind are told apart.
  const Api asked = fake(false);
  found = dawn_adapters(asked);
  REQUIRE(found.size() == 1);
  CHECK(found[0].vendor == amd);
}

TEST_CASE("dawn: a device is made of a handle of its own") {
  gpus = {{amd, 1}, {nvidia, 7}, {intel, 3}};
  for (const bool enumerates : {true, false}) {
    const Api api = fake(enumerates);
    const std::vector<Adapter> found = dawn_adapters(api);
    for (const Adapter& adapter : found) {
      CHECK(adapter.handle == nullptr);
      CHECK(of(handle_for_device(adapter)).vendor == adapter.vendor);
    }
  }
  const Api api = fake(true);
  const Adapter last = dawn_adapters(api).back();
  gpus.pop_back();
  CHECK_THROWS_WITH_AS(handle_for_device(last), doctest::Contains("is no longer there"),
                       BackendUnavailable);
}

/// A GPU as a library lists it.
Adapter listed(Implementation implementation, const std::string& id, std::uint32_t vendor,
               std::uint32_t device, bool has_matrices = false) {
  static const Api wgpu;
  static const Api dawn = fake(true);
  Adapter adapter{};
  adapter.api = implementation == Implementation::dawn ? &dawn : &wgpu;
  adapter.vendor = vendor;
  adapter.device = device;
  adapter.info.id = id;
  if (has_matrices) {
    adapter.matrix_shapes.push_back({DType::float16, DType::float32, 16, 16, 16});
  }
  return adapter;
}

TEST_CASE("webgpu auto: Dawn for GPUs with matrix units, in the order of wgpu-native") {
  constexpr auto by_wgpu = Implementation::wgpu, by_dawn = Implementation::dawn;
  const std::vector<Adapter> wgpu{
      listed(by_wgpu, "webgpu:0", intel, 3), listed(by_wgpu, "webgpu:1", nvidia, 7),
      listed(by_wgpu, "webgpu:2", nvidia, 7), listed(by_wgpu, "webgpu:3", amd, 1)};
  const std::vector<Adapter> dawn{
      listed(by_dawn, "webgpu:0", nvidia, 7, true), listed(by_dawn, "webgpu:1", nvidia, 7, true),
      listed(by_dawn, "webgpu:2", intel, 3), listed(by_dawn, "webgpu:3", intel, 9, true)};
  const auto chosen = with_matrix_units(wgpu, dawn, "");
  REQUIRE(chosen.size() == 4);
  std::vector<bool> through_dawn;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    CHECK(chosen[i].info.id == "webgpu:" + std::to_string(i));
    through_dawn.push_back(chosen[i].api->is_dawn());
  }
  CHECK(through_dawn == std::vector<bool>{false, true, true, false});
  CHECK(chosen[0].info.implementation_why == "Dawn reports no matrix units of this GPU");
  CHECK(chosen[1].info.implementation_why == "it reaches this GPU's matrix units");
  CHECK(chosen[3].info.implementation_why == "Dawn does not list this GPU");
  const auto alone = with_matrix_units(wgpu, {}, "it broke");
  for (const Adapter& adapter : alone) {
    CHECK(!adapter.api->is_dawn());
    CHECK(adapter.info.implementation_why == "there is no Dawn (it broke)");
  }
}

TEST_CASE("dawn: a table that lacks calls is refused, and named") {
  const auto nothing = [](WGPUStringView) -> WGPUProc { return nullptr; };
  CHECK_THROWS_WITH_AS(dawn_by(nothing, "Dawn of a test"),
                       doctest::Contains("Dawn of a test lacks CreateInstance, "),
                       BackendUnavailable);
  const auto all_but_one = [](WGPUStringView name) -> WGPUProc {
    return view(name) == "wgpuQueueSubmit" ? nullptr : WGPUProc([] {});
  };
  CHECK_THROWS_WITH_AS(
      dawn_by(all_but_one, "Dawn of a test"),
      doctest::Contains("lacks QueueSubmit; take the Dawn that pip install 'tilewright[dawn]'"),
      BackendUnavailable);
}

}  // namespace
}  // namespace tilewright::webgpu
