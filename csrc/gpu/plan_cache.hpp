#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright::gpu {

/// Plans, as pointers to them, by what they follow from, which is all of `Key`: it has hash() and
/// ==. At most `capacity` are kept; a new one takes the place of one of the few that it shares a
/// set with.
template <class Key, class Plan>
class PlanCache {
 public:
  static constexpr std::size_t ways = 4, sets = 32, capacity = ways * sets;

  /// The plan for a key; null where it is not kept.
  Plan find(const Key& key) {
    Set& set = set_of(key);
    std::lock_guard lock(mutex_);
    const std::size_t at = place_in(set, key);
    return at < set.count ? set.plans[at] : Plan();
  }

  void keep(const Key& key, Plan plan) {
    Set& set = set_of(key);
    std::lock_guard lock(mutex_);
    ++made_;
    std::size_t at = place_in(set, key);
    if (at == set.count) at = set.count < ways ? set.count++ : set.next++ % ways;
    set.keys[at] = key;
    std::swap(set.plans[at], plan);  // the old one goes without the lock
  }

  /// Whether this was asked of the key before; of two whose hashes are alike the last one counts.
  bool asked_before(const Key& key) {
    std::lock_guard lock(mutex_);
    std::uint64_t& place = asked_[key.hash() >> (64 - asked_bits)];
    return std::exchange(place, key.hash()) == key.hash();
  }

  /// How many were made, and how many of those are kept.
  std::size_t made() const {
    std::lock_guard lock(mutex_);
    return made_;
  }
  std::size_t kept() const {
    std::lock_guard lock(mutex_);
    std::size_t all = 0;
    for (const Set& set : sets_) all += set.count;
    return all;
  }

 private:
  static constexpr int set_bits = 5;
  static_assert(sets == std::size_t{1} << set_bits);
  struct Set {
    std::array<Key, ways> keys{};
    std::array<Plan, ways> plans{};
    std::size_t count = 0, next = 0;
  };
  Set& set_of(const Key& key) { return sets_[key.hash() >> (64 - set_bits)]; }
  static std::size_t place_in(const Set& set, const Key& key) {
    std::size_t at = 0;
    while (at < set.count && !(set.keys[at] == key)) ++at;
    return at;
  }

  mutable std::mutex mutex_;
  std::vector<Set> sets_{sets};
  static constexpr int asked_bits = 7;
  std::array<std::uint64_t, std::size_t{1} << asked_bits> asked_{};
  std::size_t made_ = 0;
};

}  // namespace tilewright::gpu
