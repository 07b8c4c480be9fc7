#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/sort_keys.hpp"
#include "cpu/row_chunks.hpp"

// Stable sorts of one row by unsigned keys of items: by insertion where it is short, else by the
// digits of keys, least significant first. Long rows are first cut by the most significant digit
// that differs, so that threads share them and each part stays in a cache.
namespace tilewright::cpu {

/// An element and where it was.
template <class U>
struct Indexed {
  U raw;
  std::uint32_t place;
};

/// The key of an element's bits: SortKeys for one width.
template <class U, bool of_floats>
struct KeyOf {
  U sign, infinity, flip;

  explicit KeyOf(const SortKeys& keys)
      : sign(static_cast<U>(keys.sign)),
        infinity(static_cast<U>(keys.infinity)),
        flip(static_cast<U>(keys.flip)) {}

  U operator()(const Indexed<U>& item) const { return (*this)(item.raw); }
  U operator()(U raw) const {
    if constexpr (!of_floats) return static_cast<U>(raw ^ sign ^ flip);
    // Without branches: signs differ at random.
    using Signed = std::make_signed_t<U>;
    const U magnitude = static_cast<U>(raw & (sign - 1));
    const U negative = static_cast<U>(static_cast<Signed>(raw) >> (8 * sizeof(U) - 1));
    // -0.0 is 0.0.
    const U ordered = static_cast<U>((raw ^ (negative | sign)) + (raw == sign));
    const U is_nan = static_cast<U>(-static_cast<Signed>(magnitude > infinity));
    return static_cast<U>((ordered ^ flip) | is_nan);
  }
};

/// The same of floats among which there is neither NaN nor -0.0: a third of the work.
template <class U>
struct KeyOfPlain {
  U sign, flip;

  explicit KeyOfPlain(const SortKeys& keys)
      : sign(static_cast<U>(keys.sign)), flip(static_cast<U>(keys.flip)) {}

  U operator()(const Indexed<U>& item) const { return (*this)(item.raw); }
  U operator()(U raw) const {
    using Signed = std::make_signed_t<U>;
    const U negative = static_cast<U>(static_cast<Signed>(raw) >> (8 * sizeof(U) - 1));
    return static_cast<U>(raw ^ (negative | sign) ^ flip);
  }
};

template <class U>
bool are_plain(const U* x, std::size_t n, const SortKeys& keys) {
  const U sign = static_cast<U>(keys.sign), infinity = static_cast<U>(keys.infinity);
  const RowChunks chunks(n);
  std::vector<std::uint8_t> special(chunks.count);
  chunks.each([&](std::size_t c) {
    U found = 0;
    for (std::size_t i = chunks.begin(c); i < chunks.end(c); ++i) {
      const U magnitude = static_cast<U>(x[i] & (sign - 1));
      found = static_cast<U>(found | (magnitude > infinity) | (x[i] == sign));
    }
    special[c] = found != 0;
  });
  return std::ranges::find(special, 1) == special.end();
}

inline constexpr std::size_t digit_bits = 8, digit_values = 1 << digit_bits;

template <class U>
std::size_t digit_of(U key, std::size_t digit) {
  return static_cast<std::size_t>(key >> (digit * digit_bits)) & (digit_values - 1);
}

/// Rows that are sorted by insertion.
inline constexpr std::size_t most_inserted = 32;

/// Reads items where they are.
template <class Item>
struct ItemsAt {
  const Item* from;
  Item operator()(std::size_t i) const { return from[i]; }
};

/// Sorts n items of a row, which read(i) gives, by key(item), into `wanted` or `spare`, and gives
/// the one that it was. `in_place`: read() reads what is in `wanted`.
template <class U, class Item, class Key, class Read>
class RowSort {
 public:
  /// The keys differ in their `top` lowest digits at most.
  RowSort(std::size_t n, Key key, Read read, std::size_t top = sizeof(U))
      : n_(n), key_(key), read_(read), top_(top) {}

  Item* sort(Item* wanted, Item* spare, bool in_place) const {
    constexpr std::size_t least_cut = 1 << 17;
    if (n_ <= most_inserted) return insert<most_inserted>(wanted);
    if (n_ < least_cut) return sort_digits(wanted, spare, in_place);
    return sort_parts(wanted, spare, in_place);
  }

 private:
  static constexpr std::size_t digits = sizeof(U);
  template <class Count>
  using Counts = std::array<std::array<Count, digit_values>, digits>;

  template <std::size_t most>
  Item* insert(Item* wanted) const {
    std::array<Item, most> items;
    std::array<U, most> keys;
    for (std::size_t i = 0; i < n_; ++i) {
      const Item item = read_(i);
      const U key = key_(item);
      std::size_t at = i;
      for (; at > 0 && keys[at - 1] > key; --at) {
        items[at] = items[at - 1];
        keys[at] = keys[at - 1];
      }
      items[at] = item;
      keys[at] = key;
    }
    std::copy_n(items.begin(), n_, wanted);
    return wanted;
  }

  template <class Count>
  void count(std::size_t begin, std::size_t end, Counts<Count>& counts) const {
    const Key key = key_;
    for (std::size_t i = begin; i < end; ++i) {
      const U one = key(read_(i));
      // Of a digit that is the same everywhere each count would wait for the one before.
      for (std::size_t d = 0; d < digits; ++d) {
        if (d < top_) ++counts[d][digit_of(one, d)];
      }
    }
  }
  /// Moves items to where `next` says that their digit's begin.
  template <class Items, class Count>
  void move(std::size_t digit, const Items& items, std::size_t begin, std::size_t end,
            const std::array<Count, digit_values>& starts, Item* to) const {
    const Key key = key_;
    std::array<Item*, digit_values> next;
    for (std::size_t v = 0; v < digit_values; ++v) next[v] = to + starts[v];
    for (std::size_t i = begin; i < end; ++i) {
      const Item item = items(i);
      *next[digit_of(key(item), digit)]++ = item;
    }
  }

  Item* sort_digits(Item* wanted, Item* spare, bool in_place) const {
    Counts<std::uint32_t> counts{};
    count(0, n_, counts);
    const U first = key_(read_(0));
    std::array<std::size_t, digits> to_do{};
    std::size_t passes = 0;
    for (std::size_t d = 0; d < top_; ++d) {
      if (counts[d][digit_of(first, d)] == n_) continue;
      to_do[passes++] = d;
      std::uint32_t before = 0;
      for (std::uint32_t& one : counts[d]) before += std::exchange(one, before);
    }
    if (passes == 0) {
      for (std::size_t i = 0; i < n_ && !in_place; ++i) wanted[i] = read_(i);
      return wanted;
    }
    Item* to = passes % 2 == 1 && !in_place ? wanted : spare;
    Item* other = to == wanted ? spare : wanted;
    move(to_do[0], read_, 0, n_, counts[to_do[0]], to);
    // GCC does not see that there are no more passes than digits.
    for (std::size_t p = 1; p < std::min(passes, digits); ++p) {
      Item* const from = std::exchange(to, other);
      other = from;
      move(to_do[p], ItemsAt<Item>{from}, 0, n_, counts[to_do[p]], to);
    }
    return to;
  }

  Item* sort_parts(Item* wanted, Item* spare, bool in_place) const {
    const RowChunks chunks(n_);
    std::vector<Counts<std::size_t>> counts(chunks.count);
    chunks.each([&](std::size_t c) { count(chunks.begin(c), chunks.end(c), counts[c]); });
    const U first = key_(read_(0));
    std::size_t digit = top_;
    const auto is_same = [&](std::size_t d) {
      std::size_t all = 0;
      for (const auto& of_chunk : counts) all += of_chunk[d][digit_of(first, d)];
      return all == n_;
    };
    while (digit > 0 && is_same(digit - 1)) --digit;
    if (digit-- == 0) {
      chunks.each([&](std::size_t c) {
        for (std::size_t i = chunks.begin(c); i < chunks.end(c) && !in_place; ++i) {
          wanted[i] = read_(i);
        }
      });
      return wanted;
    }
    std::array<std::size_t, digit_values + 1> starts;
    std::size_t before = 0;
    for (std::size_t value = 0; value < digit_values; ++value) {
      starts[value] = before;
      for (auto& of_chunk : counts) before += std::exchange(of_chunk[digit][value], before);
    }
    starts[digit_values] = n_;
    chunks.each([&](std::size_t c) {
      move(digit, read_, chunks.begin(c), chunks.end(c), counts[c][digit], spare);
    });
    if (digit == 0) return spare;
    const auto sort_part = [&](std::size_t value) {
      const std::size_t start = starts[value], size = starts[value + 1] - start;
      if (size == 0) return;
      Item* const from = spare + start;
      Item* const to = wanted + start;
      const RowSort<U, Item, Key, ItemsAt<Item>> part(size, key_, {from}, digit);
      if (part.sort(from, to, true) == from) std::copy_n(from, size, to);
    };
    // What one thread would take long over goes first, shared by all.
    const std::size_t large = n_ / (2 * chunks.count);
    const auto is_large = [&](std::size_t value) {
      return chunks.count > 1 && starts[value + 1] - starts[value] > large;
    };
    for (std::size_t value = 0; value < digit_values; ++value) {
      if (is_large(value)) sort_part(value);
    }
    const auto sort_small = [&](std::size_t value) {
      if (!is_large(value)) sort_part(value);
    };
    if (chunks.count > 1) {
      parallel_tasks(digit_values, sort_small);
    } else {
      for (std::size_t value = 0; value < digit_values; ++value) sort_small(value);
    }
    return wanted;
  }

  const std::size_t n_;
  const Key key_;
  const Read read_;
  const std::size_t top_;
};

}  // namespace tilewright::cpu
