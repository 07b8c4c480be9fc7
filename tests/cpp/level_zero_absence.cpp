#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/text.hpp"
#include "level_zero/absence.hpp"
#include "level_zero/results.hpp"

namespace tilewright::level_zero {
namespace {

bool says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

std::string uninitialized(const Surroundings& around) {
  return why_no_driver(ZE_RESULT_ERROR_UNINITIALIZED, around);
}

const Surroundings::Node usable{"/dev/dri/renderD128", true, true};
const Surroundings::Node closed{"/dev/dri/renderD128", true, false};
const Surroundings::Node missing{"/dev/dri/renderD128", false, false};

TEST_CASE("level-zero absence: one result, and why it came") {
  CHECK(says(uninitialized({}), "no Intel GPU"));
  CHECK(says(uninitialized({.nodes = {closed}}), "no permission to use /dev/dri/renderD128"));
  CHECK(says(uninitialized({.nodes = {closed}}), "add the user to the group"));
  CHECK(says(uninitialized({.nodes = {missing}}), "a container has to be given /dev/dri"));
  CHECK(says(uninitialized({.nodes = {missing, closed}}), "no permission"));
  CHECK(says(uninitialized({.nodes = {usable}, .driver_error = "libze_intel_gpu.so.1: not found"}),
             "no Level Zero driver is installed for the Intel GPU (libze_intel_gpu.so.1"));
  CHECK(says(uninitialized({.nodes = {closed, usable}}), "install the current driver"));
  CHECK(says(uninitialized({.alternative_drivers = "/x.so"}), "ZE_ENABLE_ALT_DRIVERS is /x.so"));
}

TEST_CASE("level-zero absence: parts of two loaders") {
  const std::string message = uninitialized(
      {.loaders = {"/usr/lib/libze_loader.so.1.8.0", "/opt/lib/libze_validation_layer.so.1.32.0"}});
  CHECK(
      says(message, "/usr/lib/libze_loader.so.1.8.0 and /opt/lib/libze_validation_layer.so.1.32"));
  CHECK(says(message, "TILEWRIGHT_ZE_LIBRARY"));
  CHECK_FALSE(says(uninitialized({.loaders = {"/usr/lib/libze_loader.so.1.8.0",
                                              "/usr/lib/libze_tracing_layer.so.1.8.0"}}),
                   "mixed"));
}

TEST_CASE("level-zero absence: other results speak for themselves") {
  const std::string message = why_no_driver(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, {});
  CHECK(says(message, "zeInit gave ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"));
  CHECK(says(message, "install the whole driver"));
  CHECK(says(why_no_device({.nodes = {closed}}), "no device: this user has no permission"));
}

TEST_CASE("level-zero absence: the nodes of Intel GPUs, by what the kernel says") {
  char folder[] = "/tmp/tilewright-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string drm = text(folder, "/drm"), dev = text(folder, "/dri");
  const auto add = [&](int number, const char* vendor) {
    const std::string card = text(drm, "/renderD", number);
    mkdir(drm.c_str(), 0755);
    mkdir(card.c_str(), 0755);
    mkdir((card + "/device").c_str(), 0755);
    std::ofstream(card + "/device/vendor") << vendor << "\n";
  };
  add(128, "0x10de");
  add(129, "0x8086");
  add(130, "0x8086");
  mkdir(dev.c_str(), 0755);
  std::ofstream(dev + "/renderD130") << "";
  const Surroundings around = look_around(drm, dev);
  REQUIRE(around.nodes.size() == 2);
  CHECK(around.nodes[0].path == dev + "/renderD129");
  CHECK_FALSE(around.nodes[0].exists);
  CHECK(around.nodes[1].exists);
  CHECK(around.nodes[1].usable);
  CHECK(look_around(folder, folder).nodes.empty());
}

TEST_CASE("level-zero results: every result that is declared says what to do") {
  for (const auto result : {ZE_RESULT_ERROR_DEVICE_LOST, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                            ZE_RESULT_ERROR_UNSUPPORTED_SIZE, ZE_RESULT_ERROR_INVALID_ARGUMENT}) {
    CHECK(says(failure_text("zeCall", result), "level-zero: zeCall gave ZE_RESULT_ERROR_"));
  }
  CHECK(name_of(static_cast<ze_result_t>(0x7800001f)) == "result 0x7800001f");
  CHECK(says(failure_text("zeCall", static_cast<ze_result_t>(1234)), "not known here"));
}

}  // namespace
}  // namespace tilewright::level_zero
