#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/program/program_data.hpp"

namespace tilewright {

/// What was lately made of programs. Not synchronised: the owner holds a lock.
class KeptRewrites {
 public:
  /// make(), or what it made of the program before, for the same purpose.
  template <class Make>
  ProgramRef of(const ProgramRef& program, std::uint32_t purpose, const Make& make) {
    const auto address = reinterpret_cast<std::uintptr_t>(program.get());
    Entry& entry = entries_[(address / alignof(std::max_align_t) + purpose) % entries_.size()];
    if (entry.from != program || entry.purpose != purpose) entry = {program, purpose, make()};
    return entry.made;
  }

 private:
  struct Entry {
    ProgramRef from;
    std::uint32_t purpose = 0;
    ProgramRef made;
  };
  std::array<Entry, 64> entries_;
};

}  // namespace tilewright
