#include "selection/choose.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tilewright/error.hpp"

namespace tilewright {
namespace {

const std::vector<std::string> backends{"level-zero", "webgpu", "cpu"};

DeviceInfo device(const char* id, DeviceKind kind, const char* reason = nullptr) {
  DeviceInfo info;
  info.id = id;
  info.backend = info.id.substr(0, info.id.find(':'));
  info.name = info.id + "'s name";
  info.kind = kind;
  info.available = reason == nullptr;
  if (reason != nullptr) info.reason = reason;
  return info;
}

const DeviceInfo arc = device("level-zero:0", DeviceKind::discrete);
const DeviceInfo iris = device("level-zero:0", DeviceKind::integrated);
const DeviceInfo no_loader =
    device("level-zero:0", DeviceKind::discrete, "libze_loader.so.1 was not found");
const DeviceInfo radeon = device("webgpu:0", DeviceKind::discrete);
const DeviceInfo vega = device("webgpu:0", DeviceKind::integrated);
const DeviceInfo lavapipe = device("webgpu:1", DeviceKind::software);
const DeviceInfo no_vulkan = device("webgpu:0", DeviceKind::discrete, "no Vulkan driver");
const DeviceInfo processor = device("cpu:0", DeviceKind::cpu);

std::string chosen(const std::vector<DeviceInfo>& devices, std::string_view preference = "auto",
                   bool allow_software = false, std::string_view power = "") {
  return choose_device(devices, backends, preference, allow_software, power).id;
}

std::string refusal(const std::vector<DeviceInfo>& devices, std::string_view preference) {
  try {
    return "chose " + chosen(devices, preference);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
}

TEST_CASE("auto: discrete before integrated before the processor") {
  CHECK(chosen({iris, radeon, processor}) == "webgpu:0");
  CHECK(chosen({arc, vega, processor}) == "level-zero:0");
  CHECK(chosen({no_loader, vega, processor}) == "webgpu:0");
  CHECK(chosen({no_loader, no_vulkan, processor}) == "cpu:0");
}

TEST_CASE("auto: for the same kind, the vendor's own API before webgpu") {
  CHECK(chosen({arc, radeon, processor}) == "level-zero:0");
  CHECK(chosen({iris, vega, processor}) == "level-zero:0");
}

TEST_CASE("auto: a software GPU only where it is allowed, and the processor is last even then") {
  CHECK(chosen({no_loader, lavapipe, processor}) == "cpu:0");
  CHECK(chosen({no_loader, lavapipe, processor}, "auto", true) == "webgpu:1");
  CHECK(chosen({no_loader, vega, lavapipe, processor}, "auto", true) == "webgpu:0");
}

TEST_CASE("power_preference low: an integrated GPU first") {
  CHECK(chosen({iris, radeon, processor}, "auto", false, "low") == "level-zero:0");
  CHECK(chosen({arc, vega, processor}, "auto", false, "low") == "webgpu:0");
  CHECK(chosen({arc, no_vulkan, processor}, "auto", false, "low") == "level-zero:0");
  CHECK(chosen({iris, radeon, processor}, "auto", false, "high") == "webgpu:0");
}

TEST_CASE("a backend's name: its best device and no other backend's") {
  const DeviceInfo second = device("webgpu:2", DeviceKind::discrete);
  CHECK(chosen({arc, vega, lavapipe, second, processor}, "webgpu") == "webgpu:2");
  CHECK(chosen({arc, radeon, processor}, "cpu") == "cpu:0");
  CHECK(refusal({arc, no_vulkan, processor}, "webgpu") ==
        "webgpu: no device can be used:\n  webgpu:0: no Vulkan driver\n`tilewright doctor` says "
        "what to do");
}

TEST_CASE("a backend's name: a software GPU is not picked, and the message says how to") {
  CHECK(refusal({arc, lavapipe, processor}, "webgpu") ==
        "webgpu: no device can be used:\n  webgpu:1: webgpu:1's name is a software GPU, which is "
        "never picked by itself; ask for it by its id or set TILEWRIGHT_ALLOW_SOFTWARE=1\n"
        "`tilewright doctor` says what to do");
  CHECK(chosen({arc, lavapipe, processor}, "webgpu", true) == "webgpu:1");
}

TEST_CASE("an id: that device, also a software one, or the reason why not") {
  CHECK(chosen({arc, radeon, lavapipe, processor}, "webgpu:1") == "webgpu:1");
  CHECK(chosen({arc, radeon, lavapipe, processor}, "cpu:0") == "cpu:0");
  CHECK(refusal({no_loader, radeon, processor}, "level-zero:0") ==
        "level-zero:0: libze_loader.so.1 was not found");
  CHECK(refusal({arc, radeon, lavapipe, processor}, "webgpu:7") ==
        "preference is \"webgpu:7\", but the devices of webgpu are: webgpu:0, webgpu:1");
  CHECK(refusal({arc}, "cpu:0") == "preference is \"cpu:0\", but the devices of cpu are: none");
}

TEST_CASE("names in any case, with _ for -") {
  CHECK(chosen({arc, vega, processor}, "Auto") == "level-zero:0");
  CHECK(chosen({arc, vega, processor}, "WebGPU") == "webgpu:0");
  CHECK(chosen({arc, vega, processor}, "CPU:0") == "cpu:0");
  for (const char* name : {"Level-Zero", "LEVEL_ZERO", "level_zero:0", "Level-Zero:0"}) {
    CHECK(chosen({arc, vega, processor}, name) == "level-zero:0");
  }
  CHECK(refusal({arc, processor}, "CPU:7") ==
        "preference is \"CPU:7\", but the devices of cpu are: cpu:0");
}

TEST_CASE("a name that no backend has") {
  for (const char* wrong : {"cuda", "cuda:0", "", "levelzero", "cp", "cpu0", ":0"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(chosen({processor}, wrong),
                         doctest::Contains("expected auto, a backend (level-zero, webgpu, cpu) or "
                                           "a device id such as cpu:0"),
                         InvalidArgument);
  }
}

TEST_CASE("auto: nothing at all") {
  CHECK(refusal({}, "auto") ==
        "auto: no device can be used: none was found\n`tilewright doctor` says what to do");
  CHECK(refusal({no_loader, no_vulkan}, "auto") ==
        "auto: no device can be used:\n  level-zero:0: libze_loader.so.1 was not found\n  "
        "webgpu:0: no Vulkan driver\n`tilewright doctor` says what to do");
}

}  // namespace
}  // namespace tilewright
