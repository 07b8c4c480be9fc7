#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/program/program_data.hpp"

namespace tilewright::cpu {

/// Nodes of a program that are the rounds of Philox4x32-10 on one counter.
struct PhiloxNodes {
  std::array<std::uint32_t, 4> counter{};
  std::array<std::uint32_t, 2> key{};
  std::array<std::uint32_t, 4> words;  ///< what it comes to

  bool has_word(std::uint32_t node) const;
};

/// The block of random words that a program of tilewright.random starts with: what its rounds say
/// one op at a time, random_table() has as one loop. None where the second half of the counter or
/// the key is not the same for all elements.
std::optional<PhiloxNodes> find_philox(const ProgramData& program);

}  // namespace tilewright::cpu
