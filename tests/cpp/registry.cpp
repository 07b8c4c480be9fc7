#include "tilewright/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "scoped_environment.hpp"
#include "selection/backends.hpp"

namespace tilewright {
namespace {

TEST_CASE("registry: every backend has a name, a device and a maker") {
  const std::vector<std::string> names = backend_names();
  CHECK(names == std::vector<std::string>{"level-zero", "webgpu", "cpu"});
  const std::vector<DeviceInfo> all = devices();
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(std::any_of(all.begin(), all.end(), [&](const auto& d) { return d.backend == name; }));
    const auto be = make_backend(name);
    CHECK(be->name() == name);
    CHECK_FALSE(be->is_initialized());
    CHECK_THROWS_AS(be->alloc(4), NotInitialized);
  }
}

TEST_CASE("registry: a device is available or says why not") {
  for (const DeviceInfo& device : devices()) {
    CAPTURE(device.id);
    CHECK(device.id.rfind(device.backend + ":", 0) == 0);
    CHECK(device.available == device.reason.empty());
    if (device.available) CHECK_FALSE(device.name.empty());
  }
}

TEST_CASE("registry: the processor is always there") {
  const ScopedEnvironment unset("TILEWRIGHT_DEVICE", nullptr);
  const auto be = init_backend("cpu");
  CHECK(be->is_initialized());
  CHECK(be->name() == "cpu");
  const DeviceInfo device = be->device();
  CHECK(device.id == "cpu:0");
  CHECK(device.kind == DeviceKind::cpu);
  CHECK(device.memory_bytes > 0);
  const Capabilities capabilities = be->capabilities();
  CHECK(capabilities.compute_units >= 1);
  CHECK(capabilities.max_buffer_bytes > 0);
  CHECK(be->performance_hints().simd_width >= 1);
  CHECK(init_backend("cpu:0")->device().id == "cpu:0");
}

TEST_CASE("registry: a backend that cannot be used says so at init and never falls back") {
  for (const DeviceInfo& device : devices()) {
    if (device.available) continue;
    CAPTURE(device.id);
    CHECK_THROWS_WITH_AS(init_backend(device.id), doctest::Contains(device.reason.c_str()),
                         BackendUnavailable);
  }
  CHECK_THROWS_AS(init_backend("cpu:1"), BackendUnavailable);
  CHECK_THROWS_AS(init_backend("cpu", {.adapter_index = 3}), BackendUnavailable);
  CHECK_THROWS_AS(init_backend("cpu:0", {.adapter_index = 0}), InvalidArgument);
  CHECK_THROWS_AS(init_backend("auto", {.adapter_index = 0}), InvalidArgument);
}

TEST_CASE("registry: a backend is available where one of its devices opens") {
  for (const std::string& name : backend_names()) {
    CAPTURE(name);
    bool opens = false;
    for (const DeviceInfo& device : devices()) {
      if (device.backend != name) continue;
      try {
        opens = init_backend(device.id)->is_initialized() || opens;
      } catch (const BackendUnavailable&) {
        // is_available() must say so.
      }
    }
    CHECK(is_available(name) == opens);
  }
  CHECK(is_available("cpu"));
  CHECK_THROWS_AS(is_available("cuda"), InvalidArgument);
}

TEST_CASE("registry: names in any case") {
  CHECK(make_backend("WebGPU")->name() == "webgpu");
  for (const char* name : {"level-zero", "Level-Zero", "LEVEL_ZERO", "level_zero"}) {
    CHECK(make_backend(name)->name() == "level-zero");
  }
  CHECK(init_backend("CPU")->device().id == "cpu:0");
  CHECK(init_backend("Cpu:0")->device().id == "cpu:0");
  CHECK(init_backend("CPU", {.adapter_index = 0})->device().id == "cpu:0");
  CHECK(is_available("CPU"));
  const ScopedEnvironment set("TILEWRIGHT_DEVICE", "CPU:0");
  CHECK(init_backend("AUTO")->device().id == "cpu:0");
  CHECK_THROWS_AS(init_backend("AUTO", {.adapter_index = 0}), InvalidArgument);
}

TEST_CASE("registry: names that no backend has") {
  CHECK_THROWS_WITH_AS(make_backend("cuda"),
                       "backend is \"cuda\", expected one of level-zero, webgpu, cpu",
                       InvalidArgument);
  CHECK_THROWS_AS(init_backend("cuda"), InvalidArgument);
  CHECK_THROWS_AS(init_backend("cuda", {.adapter_index = 0}), InvalidArgument);
}

TEST_CASE("registry: TILEWRIGHT_DEVICE replaces auto and only auto") {
  const ScopedEnvironment set("TILEWRIGHT_DEVICE", "cuda");
  CHECK_THROWS_AS(init_backend(), InvalidArgument);
  CHECK(init_backend("cpu")->name() == "cpu");
  const ScopedEnvironment right("TILEWRIGHT_DEVICE", "cpu:0");
  CHECK(init_backend()->device().id == "cpu:0");
  const ScopedEnvironment flag("TILEWRIGHT_ALLOW_SOFTWARE", "perhaps");
  CHECK_THROWS_WITH_AS(init_backend(), doctest::Contains("TILEWRIGHT_ALLOW_SOFTWARE is"),
                       InvalidArgument);
}

}  // namespace
}  // namespace tilewright
