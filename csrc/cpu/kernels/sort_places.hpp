#pragma once

#include "cpu/kernels/sort.hpp"

/// Sorts of places: each key with its place behind it is a key of twice the bits, all of them
/// different, in the order of a stable sort.
namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class W>
void sort_placed(W* keys, std::size_t rows, std::size_t n, W* spare) {
  if (n <= tile_keys<W>) return sort_short_rows<W>(keys, keys, rows, n);
  for (std::size_t i = 0; i < rows; ++i) sort_keys(keys + i * n, keys + i * n, spare, n);
}

/// Elements of 8 and 16 bits, whose keys and places are 16 bits each.
template <class E>
void sort_places(const E* from, std::size_t rows, std::size_t n,
                 const SortOrder<std::int32_t>& order, std::int32_t* placed,
                 std::int32_t* scratch) {
  to_keys(from, placed, rows * n, order);
  for (std::size_t row = 0; row < rows; ++row) {
    std::int32_t* const keys = placed + row * n;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t key = keys[i] < INT16_MAX ? keys[i] : INT16_MAX;
      keys[i] = key << 16 | static_cast<std::int32_t>(i);
    }
  }
  sort_placed(placed, rows, n, scratch);
}

/// Elements of 32 bits.
static inline void sort_places(const std::int32_t* from, std::size_t rows, std::size_t n,
                               const SortOrder<std::int32_t>& order, std::int64_t* placed,
                               std::int64_t* scratch) {
  std::int32_t* const keys = reinterpret_cast<std::int32_t*>(scratch);
  to_keys(from, keys, rows * n, order);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      placed[row * n + i] =
          static_cast<std::int64_t>(keys[row * n + i]) << 32 | static_cast<std::int64_t>(i);
    }
  }
  sort_placed(placed, rows, n, scratch);
}

/// Puts keys into order that are the same but for the bits that were left out.
static inline void sort_ties(const std::int64_t* keys, std::int64_t* placed, std::size_t n,
                             unsigned place_bits) {
  bool any_tie = false;
  for (std::size_t i = 1; i < n; ++i) {
    any_tie |= static_cast<std::uint64_t>(placed[i] ^ placed[i - 1]) >> place_bits == 0;
  }
  if (!any_tie) return;
  const std::int64_t mask = (std::int64_t{1} << place_bits) - 1;
  for (std::size_t i = 1; i < n; ++i) {
    const std::int64_t moved = placed[i], key = keys[moved & mask];
    std::size_t at = i;
    for (; at > 0 && (placed[at - 1] ^ moved) >> place_bits == 0; --at) {
      if (keys[placed[at - 1] & mask] <= key) break;
      placed[at] = placed[at - 1];
    }
    placed[at] = moved;
  }
}

/// Elements of 64 bits: of keys as many bits as a row differs in and places leave room for.
static inline void sort_places(const std::int64_t* from, std::size_t rows, std::size_t n,
                               const SortOrder<std::int64_t>& order, std::int64_t* placed,
                               std::int64_t* scratch) {
  std::int64_t* const all_keys = scratch;
  const unsigned place_bits = placed_bits(n);
  to_keys(from, all_keys, rows * n, order);
  const auto left_out = [&](std::size_t row) {
    const std::int64_t* const keys = all_keys + row * n;
    std::int64_t least = keys[0], most = keys[0];
    for (std::size_t i = 1; i < n; ++i) {
      least = keys[i] < least ? keys[i] : least;
      most = keys[i] > most ? keys[i] : most;
    }
    const auto range = static_cast<std::uint64_t>(most - least);
    const unsigned bits = range == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(range));
    const unsigned out = bits + place_bits > 64 ? bits + place_bits - 64 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t above = static_cast<std::uint64_t>(keys[i] - least) >> out << place_bits;
      placed[row * n + i] = static_cast<std::int64_t>((above | i) ^ std::uint64_t{1} << 63);
    }
    return out;
  };
  bool any_left_out = false;
  for (std::size_t row = 0; row < rows; ++row) any_left_out |= left_out(row) != 0;
  sort_placed(placed, rows, n, scratch + rows * n);
  for (std::size_t row = 0; row < rows && any_left_out; ++row) {
    sort_ties(all_keys + row * n, placed + row * n, n, place_bits);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
