#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/sort/radix.hpp"

// The first elements of a row in their order, without sorting the others.
namespace tilewright::cpu {

/// Whether an element comes before a limit, which is an element as well: by keys.
template <class U, class Key>
struct BeforeKey {
  Key key;
  U limit{};

  bool operator()(U raw) const { return key(raw) < limit; }
  void limit_to(U raw) { limit = key(raw); }
};

/// The same of floats by what they are; NaN comes before nothing, and is no limit.
template <bool largest>
struct BeforeNumber {
  float limit;

  bool operator()(std::uint32_t raw) const {
    const float number = std::bit_cast<float>(raw);
    return largest ? number > limit : number < limit;
  }
  void limit_to(std::uint32_t raw) { limit = std::bit_cast<float>(raw); }
};

/// A number that at least k elements of a row of n come before, by the largest or smallest of
/// groups of its elements; false where there is none, since NaN or infinite ones are too many.
bool limit_of_row(const float* x, std::size_t n, std::size_t k, bool largest, float& limit);
/// Whether rows are long enough for that.
inline bool has_limit(std::size_t n, std::size_t k) { return k <= 256 && k <= n / 32 && n >= 128; }

/// What select_row() needs for each chunk of a row.
inline std::size_t selection_room(std::size_t k) { return k + std::max<std::size_t>(k, 64); }

/// Leaves the k first of them.
template <class U, class Key>
void drop_last(Indexed<U>* items, std::size_t count, std::size_t k, Key key) {
  std::nth_element(items, items + k - 1, items + count,
                   [key](const Indexed<U>& a, const Indexed<U>& b) {
                     const U x = key(a), y = key(b);
                     return x < y || (x == y && a.place < b.place);
                   });
}

struct Selected {
  std::size_t count;
  bool in_order;  ///< of their places, and then there may be more than k
};

/// The k first elements of a part of a row by their keys, of equal ones the first: those before
/// the last of the first k that were seen so far are kept until there is no more room. `count` of
/// the first ones are kept whatever they are.
template <class U, class Key, class Before>
Selected select_row(const U* row, std::size_t begin, std::size_t end, std::size_t k, Key key,
                    Before before, std::size_t count, Indexed<U>* kept) {
  const std::size_t room = selection_room(k);
  for (std::size_t i = 0; i < count; ++i) {
    kept[i] = {row[begin + i], static_cast<std::uint32_t>(begin + i)};
  }
  std::size_t next = begin + count;
  for (bool in_order = true;; in_order = false) {
    // Blocks without such an element are passed over, most of a long row.
    constexpr std::size_t block = 16;
    while (next < end && count < room) {
      const std::size_t now = std::min({block, end - next, room - count});
      if (now == block) {
        unsigned any = 0;
        for (std::size_t i = 0; i < block; ++i) any |= before(row[next + i]) ? 1U : 0U;
        if (any == 0) {
          next += block;
          continue;
        }
      }
      for (const std::size_t past = next + now; next < past; ++next) {
        kept[count] = {row[next], static_cast<std::uint32_t>(next)};
        count += before(row[next]) ? 1 : 0;
      }
    }
    if (next == end && (count <= k || (in_order && count <= most_inserted))) {
      return {count, in_order};
    }
    drop_last(kept, count, k, key);
    if (next == end) return {k, false};
    before.limit_to(kept[k - 1].raw);
    count = k;
  }
}

}  // namespace tilewright::cpu
