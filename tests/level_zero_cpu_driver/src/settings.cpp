#include "settings.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iterator>

namespace ze_cpu {
namespace {

struct NamedResult {
  const char* name;
  ze_result_t result;
};

constexpr NamedResult kResults[] = {
    {"SUCCESS", ZE_RESULT_SUCCESS},
    {"NOT_READY", ZE_RESULT_NOT_READY},
    {"DEVICE_LOST", ZE_RESULT_ERROR_DEVICE_LOST},
    {"OUT_OF_HOST_MEMORY", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY},
    {"OUT_OF_DEVICE_MEMORY", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY},
    {"MODULE_BUILD_FAILURE", ZE_RESULT_ERROR_MODULE_BUILD_FAILURE},
    {"MODULE_LINK_FAILURE", ZE_RESULT_ERROR_MODULE_LINK_FAILURE},
    {"INSUFFICIENT_PERMISSIONS", ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS},
    {"NOT_AVAILABLE", ZE_RESULT_ERROR_NOT_AVAILABLE},
    {"DEPENDENCY_UNAVAILABLE", ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE},
    {"UNINITIALIZED", ZE_RESULT_ERROR_UNINITIALIZED},
    {"UNSUPPORTED_VERSION", ZE_RESULT_ERROR_UNSUPPORTED_VERSION},
    {"UNSUPPORTED_FEATURE", ZE_RESULT_ERROR_UNSUPPORTED_FEATURE},
    {"INVALID_ARGUMENT", ZE_RESULT_ERROR_INVALID_ARGUMENT},
    {"INVALID_NULL_HANDLE", ZE_RESULT_ERROR_INVALID_NULL_HANDLE},
    {"HANDLE_OBJECT_IN_USE", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE},
    {"INVALID_NULL_POINTER", ZE_RESULT_ERROR_INVALID_NULL_POINTER},
    {"INVALID_SIZE", ZE_RESULT_ERROR_INVALID_SIZE},
    {"UNSUPPORTED_SIZE", ZE_RESULT_ERROR_UNSUPPORTED_SIZE},
    {"UNSUPPORTED_ALIGNMENT", ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT},
    {"INVALID_SYNCHRONIZATION_OBJECT", ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT},
    {"INVALID_ENUMERATION", ZE_RESULT_ERROR_INVALID_ENUMERATION},
    {"INVALID_NATIVE_BINARY", ZE_RESULT_ERROR_INVALID_NATIVE_BINARY},
    {"INVALID_KERNEL_NAME", ZE_RESULT_ERROR_INVALID_KERNEL_NAME},
    {"INVALID_GROUP_SIZE_DIMENSION", ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION},
    {"INVALID_GLOBAL_WIDTH_DIMENSION", ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION},
    {"INVALID_KERNEL_ARGUMENT_INDEX", ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX},
    {"INVALID_KERNEL_ARGUMENT_SIZE", ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE},
    {"INVALID_COMMAND_LIST_TYPE", ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE},
    {"OVERLAPPING_REGIONS", ZE_RESULT_ERROR_OVERLAPPING_REGIONS},
    {"UNKNOWN", ZE_RESULT_ERROR_UNKNOWN},
};

std::string string_of(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::optional<uint64_t> number_of(const char* name) {
  const std::string value = string_of(name);
  if (value.empty()) return std::nullopt;
  return std::strtoull(value.c_str(), nullptr, 0);
}

bool flag_of(const char* name, bool otherwise) { return number_of(name).value_or(otherwise) != 0; }

uint64_t physical_memory() {
  return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
}

Settings from_environment() {
  Settings settings;
  settings.opencl_library = string_of("ZE_CPU_OPENCL", "libintelocl.so");
  settings.devices = uint32_t(number_of("ZE_CPU_DEVICES").value_or(1));
  settings.tiles = uint32_t(number_of("ZE_CPU_TILES").value_or(0));
  settings.copy_engine = flag_of("ZE_CPU_COPY_ENGINE", false);
  settings.gpu = flag_of("ZE_CPU_GPU", false);
  settings.integrated = flag_of("ZE_CPU_INTEGRATED", true);
  settings.simd_width = number_of("ZE_CPU_SIMD_WIDTH");
  settings.dpas = uint32_t(number_of("ZE_CPU_DPAS").value_or(8));
  settings.memory_limit = number_of("ZE_CPU_MEMORY").value_or(physical_memory() / 2);
  settings.poison = flag_of("ZE_CPU_POISON", true);
  settings.guard_pages = flag_of("ZE_CPU_GUARD_PAGES", false);
  settings.validate_spirv = flag_of("ZE_CPU_VALIDATE_SPIRV", true);
  settings.shuffle_seed = number_of("ZE_CPU_SHUFFLE");
  settings.barrier_microseconds = number_of("ZE_CPU_BARRIER_TIME").value_or(0);
  settings.lose_after = number_of("ZE_CPU_LOSE_AFTER");
  settings.lost_hangs = flag_of("ZE_CPU_LOST_HANGS", false);
  settings.fail_call = string_of("ZE_CPU_FAIL_CALL");
  settings.fail_result = result_named(string_of("ZE_CPU_FAIL_RESULT", "OUT_OF_HOST_MEMORY"));
  settings.report_file = string_of("ZE_CPU_REPORT");
  settings.modules_folder = string_of("ZE_CPU_MODULES");
  settings.programs_folder = string_of("ZE_CPU_PROGRAMS");
  settings.log = flag_of("ZE_CPU_LOG", false);
  return settings;
}

}  // namespace

const Settings& settings() {
  static const Settings* const instance = new Settings(from_environment());
  return *instance;
}

ze_result_t result_named(const std::string& name) {
  std::string bare = name;
  for (const char* prefix : {"ZE_RESULT_", "ERROR_"}) {
    if (bare.rfind(prefix, 0) == 0) bare.erase(0, std::string(prefix).size());
  }
  for (const NamedResult& known : kResults) {
    if (bare == known.name) return known.result;
  }
  return ze_result_t(std::strtoul(name.c_str(), nullptr, 0));
}

std::string name_of(ze_result_t result) {
  for (const NamedResult& known : kResults) {
    if (result == known.result) return known.name;
  }
  return std::to_string(uint32_t(result));
}

}  // namespace ze_cpu
