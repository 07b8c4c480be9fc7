#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tilewright {

/// What a backend holds of its memory, within one limit: live buffers, and the scratch of ops while
/// they run. Freed memory that is kept for reuse is not in it, since it gives way.
class MemoryBudget {
 public:
  /// At init(), when nothing is held.
  void open(std::uint64_t limit) noexcept {
    limit_ = limit;
    held_ = peak_ = scratch_ = peak_scratch_ = 0;
  }

  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t held() const noexcept { return held_; }
  std::uint64_t room() const noexcept { return limit_ - held_; }
  std::uint64_t peak() const noexcept { return peak_; }
  std::uint64_t peak_scratch() const noexcept { return peak_scratch_; }

  /// False, with nothing changed, where that would pass the limit.
  bool take(std::uint64_t bytes) noexcept {
    std::uint64_t held = held_;
    do {
      if (bytes > limit_ - held) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept { held_ -= bytes; }
  /// What was taken is there.
  void note_peaks() noexcept {
    raise(peak_, held_);
    raise(peak_scratch_, scratch_);
  }

  /// Throws OutOfMemory, in the name of the op, for scratch that passes the limit.
  [[noreturn]] void refuse(std::string_view op, std::uint64_t bytes) const;
  /// Takes it, or refuses.
  void take_scratch(std::string_view op, std::uint64_t bytes);
  void give_back_scratch(std::uint64_t bytes) noexcept {
    scratch_ -= bytes;
    give_back(bytes);
  }

 private:
  static void raise(std::atomic<std::uint64_t>& peak, std::uint64_t now) noexcept {
    std::uint64_t before = peak;
    while (before < now && !peak.compare_exchange_weak(before, now)) {
    }
  }

  std::atomic<std::uint64_t> limit_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> held_{0}, peak_{0}, scratch_{0}, peak_scratch_{0};
};

}  // namespace tilewright
