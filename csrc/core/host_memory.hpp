#pragma once

#include <cstdint>

namespace tilewright {

/// Bytes of physical memory, or what the control group allows where that is less.
std::uint64_t usable_memory();
/// Bytes that can be had now without swapping; usable_memory() where the system does not say.
std::uint64_t available_memory();
/// Of freed blocks that are kept for reuse in memory that others of this machine need too.
inline std::uint64_t most_cached_in_host_memory() { return usable_memory() / 8; }

}  // namespace tilewright
