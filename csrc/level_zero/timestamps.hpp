#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "level_zero/adapters.hpp"
#include "level_zero/events.hpp"
#include "tilewright/profile.hpp"

namespace tilewright::level_zero {

/// When launches began and ended, by the GPU's clock, from an event for each. Not synchronised: the
/// device holds its lock.
class Timestamps {
 public:
  Timestamps(const Adapter& adapter, ze_context_handle_t context);

  /// What the next launch signals.
  ze_event_handle_t add(const std::string& kernel, const std::array<std::uint32_t, 3>& grid);
  /// The launch that was added last did not go out.
  void forget();
  /// All launches, which are done.
  std::vector<LaunchRecord> records();

 private:
  struct Launch {
    LaunchRecord record;
    ze_event_handle_t event;
  };
  /// Reads the times of the launches that are done.
  void collect();

  Events events_;
  const double tick_ns_;
  const std::uint64_t mask_;  // of the bits that the clock has
  std::deque<Launch> open_;
  std::vector<LaunchRecord> done_;
  std::uint64_t last_start_ = 0, ticks_ = 0;  // of the launch collected last, and since the first
};

}  // namespace tilewright::level_zero
