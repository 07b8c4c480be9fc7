#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/kernels/sort_table.hpp"
#include "cpu/row_chunks.hpp"

namespace tilewright::cpu {

/// Sorts elements of 8 and 16 bits by how many there are of each.
template <class E>
class CountedSort {
  using Bits = std::make_unsigned_t<E>;

 public:
  static constexpr std::size_t values = std::size_t{1} << (8 * sizeof(E));

  CountedSort(const E* x, std::size_t n, const SortOrder<std::int32_t>& order)
      : order_(order), counts_(values), starts_(values + 1) {
    count(x, n);
    std::size_t before = 0;
    for (std::size_t i = 0; i < values; ++i) {
      starts_[i] = before;
      const std::size_t value = value_at(i);
      if (of_floats() && (is_nan(value) || value == sign_bit)) continue;
      before += counts_[value];
      if (of_floats() && value == 0) before += counts_[sign_bit];
    }
    starts_[values] = before;
    has_special_ = before < n || (of_floats() && counts_[sign_bit] != 0);
  }
  /// Whether NaN or -0.0 is among them.
  bool has_special() const { return has_special_; }
  /// Where in order NaN and the zeros of floats begin.
  std::size_t nans_at() const { return starts_[values]; }
  std::size_t zeros_at() const { return starts_[index_of_zero()]; }
  /// Writes all in order but NaN, of which there are as many as room is left, and -0.0 as 0.0.
  void write(E* to) const {
    parallel_for(starts_[values], 1 << 16, [&](std::size_t begin, std::size_t end) {
      auto i =
          static_cast<std::size_t>(std::ranges::upper_bound(starts_, begin) - starts_.begin()) - 1;
      for (; begin < end; ++i) {
        const std::size_t stop = std::min(end, starts_[i + 1]);
        std::fill(to + begin, to + stop, static_cast<E>(value_at(i)));
        begin = stop;
      }
    });
  }

 private:
  static constexpr std::size_t sign_bit = values / 2;

  void count(const E* x, std::size_t n) {
    const RowChunks chunks(n, 4 * values, n >> 31);
    std::vector<std::vector<std::uint32_t>> own(chunks.count);
    chunks.each([&](std::size_t c) {
      own[c].resize(values);
      add(x + chunks.begin(c), chunks.end(c) - chunks.begin(c), own[c].data());
    });
    for (const auto& of_chunk : own) {
      for (std::size_t value = 0; value < values; ++value) counts_[value] += of_chunk[value];
    }
  }
  static void add(const E* x, std::size_t n, std::uint32_t* counts) {
    // Of eight bytes that are all the same each count would wait for the one before.
    constexpr std::size_t each = 8 / sizeof(E);
    std::size_t i = 0;
    for (; i + each <= n; i += each) {
      std::uint64_t word;
      std::memcpy(&word, x + i, 8);
      if (word == std::rotl(word, 8 * sizeof(E))) {
        counts[static_cast<Bits>(word)] += each;
        continue;
      }
      for (std::size_t j = 0; j < each; ++j)
        ++counts[static_cast<Bits>(word >> (8 * sizeof(E) * j))];
    }
    for (; i < n; ++i) ++counts[static_cast<Bits>(x[i])];
  }
  bool of_floats() const { return order_.infinity != 0; }
  bool is_nan(std::size_t value) const {
    return (value & (sign_bit - 1)) > static_cast<std::size_t>(order_.infinity);
  }
  /// The bits of the element whose key is the i-th from the least one on.
  std::size_t value_at(std::size_t i) const {
    auto bits =
        static_cast<std::size_t>(static_cast<Bits>(i ^ sign_bit)) ^ static_cast<Bits>(order_.turn);
    if (of_floats() && (bits & sign_bit) != 0) bits ^= sign_bit - 1;
    return bits;
  }
  std::size_t index_of_zero() const { return static_cast<Bits>(order_.turn) ^ sign_bit; }

  const SortOrder<std::int32_t>& order_;
  std::vector<std::size_t> counts_, starts_;
  bool has_special_;
};

}  // namespace tilewright::cpu
