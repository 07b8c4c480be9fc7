// What the environment asks of the driver; README.md describes each variable.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ze_cpu {

struct Settings {
  std::string opencl_library;
  uint32_t devices;
  uint32_t tiles;
  bool copy_engine;
  bool gpu;
  bool integrated;
  std::optional<uint32_t> simd_width;
  uint32_t dpas;
  uint64_t memory_limit;
  bool poison;
  bool guard_pages;
  bool validate_spirv;
  std::optional<uint64_t> shuffle_seed;
  uint64_t barrier_microseconds;
  std::optional<uint64_t> lose_after;
  bool lost_hangs;
  std::string fail_call;
  ze_result_t fail_result;
  std::string report_file;
  std::string modules_folder;
  std::string programs_folder;
  bool log;
};

/// Read once, at the first use.
const Settings& settings();

/// The result with this name ("DEVICE_LOST", "ZE_RESULT_ERROR_DEVICE_LOST" or a number).
ze_result_t result_named(const std::string& name);

std::string name_of(ze_result_t result);

}  // namespace ze_cpu
