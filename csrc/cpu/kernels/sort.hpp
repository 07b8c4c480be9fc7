#pragma once

#include "cpu/kernels/sort_elements.hpp"
#include "cpu/kernels/sort_network.hpp"
#include "cpu/kernels/sort_table.hpp"

/// Sorts of rows: what fits a tile in registers, longer rows by partitions down to that.
namespace tilewright::cpu::TILEWRIGHT_ISA {

// One row -----------------------------------------------------------------------------------------

/// Sorts n keys that `rows` vectors hold.
template <std::size_t rows, class S>
void sort_in_registers(const S* from, S* to, std::size_t n) {
  constexpr std::size_t width = key_lanes<S>;
  Keys<S> x[rows];
  for_each_below<rows>([&](auto row) __attribute__((always_inline)) {
    constexpr std::size_t r = decltype(row)::value, at = r * width;
    if (at + width <= n) {
      x[r] = load_bits<Keys<S>>(from + at);
    } else {
      x[r] = at < n ? load_keys(from + at, n - at) : all_of(most_of<S>);
    }
  });
  sort_tile(x);
  for_each_below<rows>([&](auto row) __attribute__((always_inline)) {
    constexpr std::size_t r = decltype(row)::value, at = r * width;
    if (at + width <= n) {
      store_keys<S>(to + at, x[r]);
    } else if (at < n) {
      store_keys<S>(to + at, x[r], n - at);
    }
  });
}

template <class S>
void sort_few(const S* from, S* to, std::size_t n) {
  constexpr std::size_t width = key_lanes<S>;
  if (n <= width) return sort_in_registers<1>(from, to, n);
  if (n <= 2 * width) return sort_in_registers<2>(from, to, n);
  if (n <= 4 * width) return sort_in_registers<4>(from, to, n);
  if (n <= 8 * width) return sort_in_registers<8>(from, to, n);
  sort_in_registers<16>(from, to, n);
}

/// What is left where pivots were bad time and again.
template <class S>
void sort_heap(S* x, std::size_t n) {
  const auto sift = [x](std::size_t at, std::size_t end) {
    const S moved = x[at];
    for (std::size_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      child += child + 1 < end && x[child + 1] > x[child];
      if (x[child] <= moved) break;
      x[at] = x[child];
      at = child;
    }
    x[at] = moved;
  };
  for (std::size_t i = n / 2; i-- > 0;) sift(i, n);
  for (std::size_t end = n; end-- > 1;) {
    const S last = x[end];
    x[end] = x[0];
    x[0] = last;
    sift(0, end);
  }
}

/// A number that follows another as if by chance.
struct Chance {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  std::size_t below(std::size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(((state >> 32) * n) >> 32);
  }
};

template <class S>
struct Pivot {
  S key;
  bool is_common;  ///< half of the sample or more is this key, and nothing is less
};

template <class S>
__attribute__((noinline)) Pivot<S> choose_pivot(const S* keys, std::size_t n, Chance& chance) {
  constexpr std::size_t most = tile_keys<S> < 128 ? tile_keys<S> : 128;
  S sample[most];
  const std::size_t count = n < 4096 ? most / 4 : n < 65536 ? most / 2 : most, each = n / count;
  for (std::size_t i = 0; i < count; ++i) sample[i] = keys[i * each + chance.below(each)];
  sort_few(sample, sample, count);
  const S middle = sample[count / 2];
  return {middle, middle == sample[0]};
}

template <class S>
class RangeSort {
 public:
  /// Sorts n keys of `from`, which is `to` or `spare`, into `to`, by partitions that move highs to
  /// `spare`. Those that leave nearly all on one side are counted, and end in a sort by a heap.
  void sort(const S* from, S* to, S* spare, std::size_t n, int bad_left) {
    while (n > tile_keys<S>) {
      if (bad_left == 0) {
        if (from != to) __builtin_memcpy(to, from, n * sizeof(S));
        return sort_heap(to, n);
      }
      const Pivot<S> pivot = choose_pivot(from, n, chance_);
      std::size_t low, below;
      if (!pivot.is_common) {
        below = low = partition_keys<S>(from, n, pivot.key - 1, to, spare);
      } else {
        low = below = partition_keys<S>(from, n, pivot.key, to, spare);
        if (pivot.key != least_of<S>) {
          below = partition_keys<S>(to, low, pivot.key - 1, to, spare + (n - low));
          for (std::size_t i = below; i < low; ++i) to[i] = pivot.key;
        } else {
          below = 0;
        }
      }
      bad_left -= (below < n - low ? n - low : below) > n - n / 8;
      sort(to, to, spare + (n - low), below, bad_left);
      from = spare;
      to += low;
      n -= low;
    }
    sort_few(from, to, n);
  }

 private:
  Chance chance_;
};

template <class S>
void sort_keys(const S* from, S* to, S* spare, std::size_t n) {
  RangeSort<S>().sort(from, to, spare, n, 24);
}

// Many rows ---------------------------------------------------------------------------------------

/// Sorts as many rows of n <= `kept` keys as there are lanes: each in a lane. A row may be read and
/// written up to a whole vector from its start on, but not written past the last row.
template <std::size_t kept, class S>
void sort_group(const S* from, S* to, std::size_t n) {
  constexpr std::size_t width = key_lanes<S>;
  Keys<S> x[width], rows[kept];
  for_each_below<width>([&](auto i) __attribute__((always_inline)) {
    x[decltype(i)::value] = load_bits<Keys<S>>(from + decltype(i)::value * n);
  });
  transpose(x);
  for_each_below<kept>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t at = decltype(i)::value;
    rows[at] = at < n ? x[at] : all_of(most_of<S>);
  });
  sort_lanes(rows);
  for_each_below<kept>([&](auto i) __attribute__((always_inline)) {
    x[decltype(i)::value] = rows[decltype(i)::value];
  });
  transpose(x);
  // Each row covers what the one before it wrote past its end.
  for_each_below<width>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t at = decltype(i)::value;
    if (at + 1 < width || n == width) {
      store_keys<S>(to + at * n, x[at]);
    } else {
      store_keys<S>(to + at * n, x[at], n);
    }
  });
}

template <std::size_t kept, class S>
void sort_groups(const S* from, S* to, std::size_t rows, std::size_t n) {
  constexpr std::size_t width = key_lanes<S>;
  std::size_t row = 0;
  for (; row + width <= rows && (row + width - 1) * n + width <= rows * n; row += width) {
    sort_group<kept>(from + row * n, to + row * n, n);
  }
  for (std::size_t count; row < rows; row += count) {
    count = rows - row < width ? rows - row : width;
    S own[width * width + width];
    __builtin_memcpy(own, from + row * n, count * n * sizeof(S));
    for (std::size_t i = count * n; i < width * width + width; ++i) own[i] = 0;
    sort_group<kept>(own, own, n);
    __builtin_memcpy(to + row * n, own, count * n * sizeof(S));
  }
}

/// Rows of at most tile_keys.
template <class S>
void sort_short_rows(const S* from, S* to, std::size_t rows, std::size_t n) {
  constexpr std::size_t width = key_lanes<S>;
  if (n > width) {
    const auto each = [&](void (*sort)(const S*, S*, std::size_t)) {
      for (std::size_t i = 0; i < rows; ++i) sort(from + i * n, to + i * n, n);
    };
    if (n <= 2 * width) return each(sort_in_registers<2, S>);
    if (n <= 4 * width) return each(sort_in_registers<4, S>);
    if (n <= 8 * width) return each(sort_in_registers<8, S>);
    return each(sort_in_registers<16, S>);
  }
  if (n <= 2) return sort_groups<2>(from, to, rows, n);
  if constexpr (width > 2) {
    if (n <= 4) return sort_groups<4>(from, to, rows, n);
  }
  if constexpr (width > 4) {
    if (n <= 8) return sort_groups<8>(from, to, rows, n);
  }
  if constexpr (width > 8) return sort_groups<16>(from, to, rows, n);
}

/// How many keys of a sorted row are less.
template <class S>
std::size_t count_below(const S* keys, std::size_t n, S key) {
  std::size_t first = 0;
  while (n > 0) {
    const std::size_t half = n / 2;
    const bool is_less = keys[first + half] < key;
    first += is_less ? half + 1 : 0;
    n = is_less ? n - half - 1 : half;
  }
  return first;
}

/// A sorted row of its keys, of which some do not give their elements back: these are taken from
/// the row as it was.
template <class E, class S>
void restore_row(const S* keys, const E* row, E* to, std::size_t n, const SortOrder<S>& order,
                 E* room) {
  const std::size_t zeros = count_below(keys, n, order.turn);
  const std::size_t nans = count_below(keys, n, most_of<S>);
  from_keys(keys, to, n, order);
  __builtin_memcpy(to + zeros, room, take_zeros(row, n, order, room) * sizeof(E));
  __builtin_memcpy(to + nans, room, take_nans(row, n, order, room) * sizeof(E));
}

template <class E, class S>
void sort_long_row(const E* from, E* to, std::size_t n, const SortOrder<S>& order, S* spare,
                   S* scratch) {
  const std::size_t room = (n + 15) / 16 * 16;
  if (in_order(from, n, order)) {
    if (from != to) __builtin_memcpy(to, from, n * sizeof(E));
    return;
  }
  const E* row = from;
  S* keys;
  if constexpr (sizeof(E) == sizeof(S)) {
    keys = to;
  } else {
    keys = scratch;
    scratch += room;
  }
  const bool special = to_keys(from, spare, n, order);
  if (special && from == to) {
    row = reinterpret_cast<E*>(scratch);
    __builtin_memcpy(scratch, from, n * sizeof(E));
  }
  sort_keys(spare, keys, spare, n);
  if (special) return restore_row(keys, row, to, n, order, reinterpret_cast<E*>(spare));
  from_keys(keys, to, n, order);
}

template <class E, class S>
void sort_rows(const E* from, E* to, std::size_t rows, std::size_t n, const SortOrder<S>& order,
               S* scratch) {
  const bool is_short = n <= tile_keys<S>;
  const std::size_t room = ((n < row_sort_block ? row_sort_block : n) + 15) / 16 * 16;
  if (!is_short) {
    for (std::size_t i = 0; i < rows; ++i) {
      sort_long_row(from + i * n, to + i * n, n, order, scratch, scratch + room);
    }
    return;
  }
  if constexpr (sizeof(E) == sizeof(S)) {
    if (order.turn == 0 && order.infinity == 0) return sort_short_rows<S>(from, to, rows, n);
  }
  // As many rows at a time as the nearest cache has room for.
  const std::size_t block = row_sort_block / n;
  S* const keys = scratch;
  S* const spare = scratch + room;
  S* const copy = scratch + 2 * room;
  for (std::size_t row = 0; row < rows; row += block) {
    const std::size_t count = rows - row < block ? rows - row : block;
    const E* source = from + row * n;
    E* const target = to + row * n;
    const bool special = to_keys(source, keys, count * n, order);
    sort_short_rows<S>(keys, keys, count, n);
    if (!special) {
      from_keys(keys, target, count * n, order);
      continue;
    }
    if (from == to) {
      __builtin_memcpy(copy, source, count * n * sizeof(E));
      source = reinterpret_cast<const E*>(copy);
    }
    for (std::size_t i = 0; i < count; ++i) {
      restore_row(keys + i * n, source + i * n, target + i * n, n, order,
                  reinterpret_cast<E*>(spare));
    }
  }
}

template <class E, class S>
constexpr ElementSorts<E, S> element_sorts{
    .rows = sort_rows,
    .in_order = in_order,
    .to_keys = to_keys,
    .from_keys = from_keys,
    .take_nans = take_nans,
    .take_zeros = take_zeros,
};

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
