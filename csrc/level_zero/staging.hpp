#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/api.hpp"

namespace tilewright::level_zero {

/// Pinned host memory that the host fills and the GPU empties, or the other way round.
struct Staging {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;  ///< of one to upload from: what copies read
  /// Signalled by the last copy; null while no such copy is queued.
  ze_event_handle_t event = nullptr;
};

}  // namespace tilewright::level_zero
