#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tilewright/backend.hpp"

namespace tilewright {

/// One backend as selection sees it.
struct BackendEntry {
  std::string_view name;
  /// Its devices; never throws, and gives one that is not available where it has none.
  std::vector<DeviceInfo> (*devices)(const Config& config);
  std::shared_ptr<Backend> (*make)(const Config& config);
  /// Throws InvalidArgument where a variable of the environment that it reads has a value that
  /// means nothing, which `devices` give as a reason.
  void (*check_environment)(const Config& config);
};

/// Each in present/, or in absent/ where this build lacks the backend.
BackendEntry level_zero_entry();
BackendEntry webgpu_entry();
BackendEntry cpu_entry();

/// All backends, in the order in which they are preferred for the same hardware.
std::span<const BackendEntry> backend_entries();

}  // namespace tilewright
