#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// How elements become signed numbers in their order, and these elements again. Both hold in S,
/// which narrower elements are widened to with their sign.
template <class S>
struct SortOrder {
  S turn;      ///< bits that are turned
  S sign;      ///< -0.0; 0 of integers
  S infinity;  ///< 0 of integers
};

/// Loops of sorts for elements stored as E, whose keys are S. Of floats NaN is the largest key, in
/// either direction, and -0.0 the same as 0.0, so that neither comes back from its key.
template <class E, class S>
struct ElementSorts {
  using Order = SortOrder<S>;

  /// Sorts rows that follow each other; `to` may be `from`. Scratch is row_sort_scratch() of S.
  void (*rows)(const E* from, E* to, std::size_t rows, std::size_t n, const Order& order,
               S* scratch);
  /// Whether a row is in order as it is.
  bool (*in_order)(const E* x, std::size_t n, const Order& order);
  /// Gives whether NaN or -0.0 is among them.
  bool (*to_keys)(const E* x, S* keys, std::size_t n, const Order& order);
  void (*from_keys)(const S* keys, E* x, std::size_t n, const Order& order);
  /// Copies all that are NaN, or all zeros; gives how many. There is room for n.
  std::size_t (*take_nans)(const E* x, std::size_t n, const Order& order, E* to);
  std::size_t (*take_zeros)(const E* x, std::size_t n, const Order& order, E* to);
};

template <class S>
struct KeySorts {
  /// Sorts n keys of `from`, which is `to` or `spare`, into `to`. Both are written.
  void (*sort)(const S* from, S* to, S* spare, std::size_t n);
  /// Moves keys up to `pivot` to `lows` and those above it to `highs`, in their order; gives the
  /// number of the former. Either may be `from`, and has room for n.
  std::size_t (*partition)(const S* from, std::size_t n, S pivot, S* lows, S* highs);
};

/// Elements of S that short rows are sorted by at a time.
inline constexpr std::size_t row_sort_block = 2048;
/// Elements of S that ElementSorts<E, S>::rows takes: keys where E is narrower, room to move them
/// to, and a copy of floats in place.
template <class E, class S>
constexpr std::size_t row_sort_scratch(std::size_t n, bool copies) {
  const std::size_t room = ((n < row_sort_block ? row_sort_block : n) + 15) / 16 * 16;
  const bool has_keys = sizeof(E) < sizeof(S) || n < row_sort_block;
  return room * (1 + has_keys + copies);
}

/// Keys of W that end in the place of their element, in order: 16 bits of 32, 32 of 64, and of
/// elements of 64 bits placed_bits().
template <class E, class S, class W>
struct ElementPlaces {
  /// Of rows that follow each other. Scratch is as much as two times all rows.
  void (*rows)(const E* from, std::size_t rows, std::size_t n, const SortOrder<S>& order, W* placed,
               W* scratch);
};

/// The bits that places of n elements take.
constexpr unsigned placed_bits(std::size_t n) {
  unsigned bits = 1;
  while (std::size_t{1} << bits < n) ++bits;
  return bits;
}

struct SortTable {
  ElementSorts<std::int8_t, std::int32_t> int8;
  ElementSorts<std::int16_t, std::int32_t> int16;
  ElementSorts<std::int32_t, std::int32_t> int32;
  ElementSorts<std::int64_t, std::int64_t> int64;
  ElementPlaces<std::int8_t, std::int32_t, std::int32_t> places8;
  ElementPlaces<std::int16_t, std::int32_t, std::int32_t> places16;
  ElementPlaces<std::int32_t, std::int32_t, std::int64_t> places32;
  ElementPlaces<std::int64_t, std::int64_t, std::int64_t> places64;
  KeySorts<std::int32_t> keys32;
  KeySorts<std::int64_t> keys64;
};

/// The table for usable_isa().
const SortTable& sort_table();

}  // namespace tilewright::cpu
