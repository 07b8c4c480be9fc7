#pragma once

#include <string>
#include <vector>

#include "level_zero/abi.hpp"

namespace tilewright::level_zero {

/// What the system says of its Intel GPUs and of the libraries that this process has loaded.
struct Surroundings {
  struct Node {
    std::string path;  ///< "/dev/dri/renderD128"
    bool exists = false;
    bool usable = false;
  };
  std::vector<Node> nodes;           ///< of Intel GPUs
  std::vector<std::string> loaders;  ///< loaded files of Level Zero loaders and their layers
  std::string alternative_drivers;   ///< what ZE_ENABLE_ALT_DRIVERS names
  std::string driver_error;  ///< why Intel's driver library cannot be opened; empty if it can
};

/// As they are; `drm` and `dev` are the folders in which the kernel lists GPUs.
Surroundings look_around(const std::string& drm = "/sys/class/drm",
                         const std::string& dev = "/dev/dri");

/// Why zeInit() gave this and no driver, and what to do. Loaders give the same result where there
/// is no GPU, no driver, no permission, and where parts of two loaders were mixed.
std::string why_no_driver(ze_result_t result, const Surroundings& around);

/// Why the drivers that are there have no device, and what to do.
std::string why_no_device(const Surroundings& around);

}  // namespace tilewright::level_zero
