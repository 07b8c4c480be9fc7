#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Philox4x32-10, Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
inline constexpr std::uint32_t philox_factors[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::uint32_t philox_steps[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int philox_rounds = 10;

struct RandomTable {
  /// Blocks of four words, in registers of programs. A block's counter is an element of `a` and of
  /// `b`, and the first elements of two registers from `rest` on, behind which are those of the
  /// key. The words are four registers from `words` on.
  void (*philox)(const void* a, const void* b, const void* rest, void* words, std::size_t n);
  /// Elements of 4 bytes, one of each in turn.
  void (*join_four)(const void* const parts[4], void* all, std::size_t n);
};

/// The table for usable_isa().
const RandomTable& random_table();

}  // namespace tilewright::cpu
