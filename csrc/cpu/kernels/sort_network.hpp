#pragma once

#include "cpu/kernels/sort_vectors.hpp"

/// Sorting networks over a tile: vectors in registers, one below the other.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// The vectors of a tile at most.
constexpr std::size_t tile_rows = 16;
template <class S>
constexpr std::size_t tile_keys = tile_rows * key_lanes<S>;

/// The comparisons of Batcher's odd-even merge sort of n.
template <std::size_t n>
struct Comparisons {
  std::size_t count = 0;
  std::uint8_t first[64] = {}, second[64] = {};
  constexpr Comparisons() {
    for (std::size_t run = 1; run < n; run *= 2) {
      for (std::size_t k = run; k > 0; k /= 2) {
        for (std::size_t j = k % run; j + k < n; j += 2 * k) {
          for (std::size_t i = j; i < j + k && i + k < n; ++i) {
            if (i / (2 * run) != (i + k) / (2 * run)) continue;
            first[count] = static_cast<std::uint8_t>(i);
            second[count++] = static_cast<std::uint8_t>(i + k);
          }
        }
      }
    }
  }
};
template <std::size_t n>
constexpr Comparisons<n> comparisons{};

/// Sorts each lane over the rows.
template <std::size_t rows, class V>
SORT_INLINE void sort_lanes(V (&x)[rows]) {
  for_each_below<comparisons<rows>.count>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t at = decltype(i)::value;
    exchange(x[comparisons<rows>.first[at]], x[comparisons<rows>.second[at]]);
  });
}

/// Joins neighbours: of groups of `group` lanes, each of two halves that are in order row by row.
/// The second half is read backwards, so both are one bitonic sequence.
template <std::size_t group, std::size_t rows, class V>
SORT_INLINE void merge_lanes(V (&x)[rows]) {
  // Of each block of rows, those that mirror each other: the lesser ones go up.
  const auto merge_rows = [&]<std::size_t block>(auto& self,
                                                 Number<block>) __attribute__((always_inline)) {
    if constexpr (block > 1) {
      for_each_below<rows / 2>([&](auto i) __attribute__((always_inline)) {
        constexpr std::size_t at = decltype(i)::value, in_block = at % (block / 2);
        constexpr std::size_t start = at / (block / 2) * block;
        V& low = x[start + in_block];
        V& high = x[start + block - 1 - in_block];
        const V other = turned<group - 1>(high);
        high = greater(low, other);
        low = lesser(low, other);
      });
      self(self, Number<block / 2>());
    }
  };
  merge_rows(merge_rows, Number<rows>());
  // Of each row.
  for_each_below<rows>([&](auto i) __attribute__((always_inline)) {
    V& row = x[decltype(i)::value];
    row = ordered<group / 2>(row, turned<group - 1>(row));
    if constexpr (group > 2) row = ordered<group / 4>(row, turned<group / 4>(row));
    if constexpr (group > 4) row = ordered<group / 8>(row, turned<group / 8>(row));
    if constexpr (group > 8) row = ordered<group / 16>(row, turned<group / 16>(row));
  });
}

/// Sorts all keys of a tile, row by row.
template <std::size_t rows, class V>
SORT_INLINE void sort_tile(V (&x)[rows]) {
  constexpr std::size_t width = sizeof(V) / sizeof(x[0][0]);
  sort_lanes(x);
  merge_lanes<2>(x);
  if constexpr (width > 2) merge_lanes<4>(x);
  if constexpr (width > 4) merge_lanes<8>(x);
  if constexpr (width > 8) merge_lanes<16>(x);
}

template <std::size_t step, class V, std::size_t... i>
SORT_INLINE void swap_corners(V& a, V& b, Numbers<i...>) {
  constexpr std::size_t width = sizeof...(i);
  const V first = __builtin_shufflevector(a, b, (i & step ? width + i - step : i)...);
  b = __builtin_shufflevector(a, b, (i & step ? width + i : i + step)...);
  a = first;
}

/// Lane j of row i becomes lane i of row j.
template <std::size_t width, class V>
SORT_INLINE void transpose(V (&x)[width]) {
  const auto swap = [&]<std::size_t step>(auto& self, Number<step>) __attribute__((always_inline)) {
    if constexpr (step < width) {
      for_each_below<width>([&](auto i) __attribute__((always_inline)) {
        constexpr std::size_t at = decltype(i)::value;
        if constexpr ((at & step) == 0) {
          swap_corners<step>(x[at], x[at + step], numbers_below<width>());
        }
      });
      self(self, Number<2 * step>());
    }
  };
  swap(swap, Number<1>());
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
