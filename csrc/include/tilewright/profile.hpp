#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// One launch of a kernel, by the device's own clock; on the cpu backend one op, by the host's.
struct LaunchRecord {
  std::string kernel;
  std::uint64_t start_ns = 0;  ///< since the first launch of the profile began
  std::uint64_t duration_ns = 0;
  std::array<std::uint32_t, 3> grid{};  ///< workgroups; 1 on the cpu backend
};

/// What the device did between begin_profile() and end_profile(), in the order of the launches.
struct Profile {
  std::vector<LaunchRecord> launches;
};

}  // namespace tilewright
