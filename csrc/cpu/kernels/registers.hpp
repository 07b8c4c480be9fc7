#pragma once

#include <cstddef>

namespace tilewright::cpu {

/// Elements that all of a program is done for before the next: registers stay in the nearest cache.
inline constexpr std::size_t program_block = 1024;
/// From one register to the next: not a power of two, by which they would meet in a cache.
inline constexpr std::size_t register_bytes = program_block * 8 + 320;

}  // namespace tilewright::cpu
