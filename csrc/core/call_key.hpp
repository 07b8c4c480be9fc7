#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tilewright {

/// All that something kept follows from, as words. One with more than `capacity` of them fits
/// nothing.
class CallKey {
 public:
  static constexpr std::size_t capacity = 48;

  template <class Value>
  void add(const Value& value) {
    if constexpr (std::is_same_v<Value, double>) {
      add(std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<Value, float>) {
      add(std::bit_cast<std::uint32_t>(value));
    } else {
      if (count_ < capacity) words_[count_] = static_cast<std::uint64_t>(value);
      ++count_;
    }
  }

  bool fits() const { return count_ <= capacity; }
  /// When all is added that fits.
  void seal() {
    for (std::size_t i = 0; i < count_; ++i) hash_ = (hash_ ^ words_[i]) * 0x9e3779b97f4a7c15u;
  }
  std::uint64_t hash() const { return hash_ ^ (hash_ << 32); }
  /// Of keys that are sealed.
  bool operator==(const CallKey& other) const {
    return hash_ == other.hash_ && count_ == other.count_ &&
           std::equal(words_.begin(), words_.begin() + count_, other.words_.begin());
  }

 private:
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
  std::array<std::uint64_t, capacity> words_;
};

}  // namespace tilewright
