// The loops of sorts by each instruction set that this processor has.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/kernels/sort_table.hpp"
#include "cpu/processor.hpp"

namespace tilewright::cpu {

namespace baseline {
extern const SortTable sorts;
}
#if defined(TILEWRIGHT_X86_KERNELS)
namespace avx2 {
extern const SortTable sorts;
}
namespace avx512 {
extern const SortTable sorts;
}
#endif

namespace {

template <class Body>
void with_tables(const Body& body) {
  body("baseline", baseline::sorts);
#if defined(TILEWRIGHT_X86_KERNELS)
  if (usable_isa() >= Isa::avx2) body("avx2", avx2::sorts);
  if (usable_isa() >= Isa::avx512) body("avx512", avx512::sorts);
#endif
}

const KeySorts<std::int32_t>& keys_of(const SortTable& table, std::int32_t) { return table.keys32; }
const KeySorts<std::int64_t>& keys_of(const SortTable& table, std::int64_t) { return table.keys64; }

struct Random {
  std::uint64_t state = 1;
  std::uint64_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
  }
};

template <class S>
std::vector<S> drawn(std::size_t n, int kind) {
  Random random;
  std::vector<S> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto any = static_cast<S>(random());
    if (kind == 0) keys[i] = any;
    if (kind == 1) keys[i] = any % 3;
    if (kind == 2) keys[i] = static_cast<S>(n - i);
    if (kind == 3) keys[i] = random() % 4 == 0 ? any : std::numeric_limits<S>::max();
    if (kind == 4) keys[i] = random() % 4 == 0 ? any : std::numeric_limits<S>::min();
  }
  return keys;
}

/// Sorts keys that are in `to` or in `spare`, with room for no more.
template <class S>
void check_sort(const KeySorts<S>& sorts, const std::vector<S>& keys) {
  std::vector<S> expected = keys;
  std::sort(expected.begin(), expected.end());
  for (const bool in_spare : {false, true}) {
    std::vector<S> to(keys.size()), spare(keys.size());
    (in_spare ? spare : to) = keys;
    sorts.sort(in_spare ? spare.data() : to.data(), to.data(), spare.data(), keys.size());
    REQUIRE(to == expected);
  }
}

TEST_CASE_TEMPLATE("cpu sorts: keys of every number", S, std::int32_t, std::int64_t) {
  with_tables([](const std::string& isa, const SortTable& table) {
    CAPTURE(isa);
    for (std::size_t n = 1; n < 5000; n += n < 530 ? 1 : 239) {
      CAPTURE(n);
      for (int kind = 0; kind < 5; ++kind) check_sort(keys_of(table, S()), drawn<S>(n, kind));
    }
  });
}

TEST_CASE_TEMPLATE("cpu sorts: partitions keep the order", S, std::int32_t, std::int64_t) {
  with_tables([](const std::string& isa, const SortTable& table) {
    CAPTURE(isa);
    for (std::size_t n = 1; n < 200; ++n) {
      const std::vector<S> keys = drawn<S>(n, 0);
      for (const S pivot :
           {keys[n / 2], std::numeric_limits<S>::min(), std::numeric_limits<S>::max()}) {
        std::vector<S> expected = keys, lows = keys, highs(n), own(n);
        const auto middle = std::stable_partition(expected.begin(), expected.end(),
                                                  [&](S key) { return key <= pivot; });
        const auto low = static_cast<std::size_t>(middle - expected.begin());
        // Out of what holds the lows, and out of what holds the highs.
        for (std::vector<S>* from : {&lows, &highs}) {
          *from = keys;
          std::vector<S>& other = from == &lows ? highs : own;
          S* const to_lows = from == &lows ? lows.data() : other.data();
          S* const to_highs = highs.data();
          REQUIRE(keys_of(table, S()).partition(from->data(), n, pivot, to_lows, to_highs) == low);
          REQUIRE(std::equal(expected.begin(), middle, to_lows));
          REQUIRE(std::equal(middle, expected.end(), to_highs));
        }
      }
    }
  });
}

/// Keys that make every pivot a bad one: each sample of choose_pivot() finds the least that are
/// left.
std::vector<std::int32_t> adverse(std::size_t n, std::size_t sampled, int rounds) {
  std::vector<std::int32_t> keys(n, -1);
  std::vector<std::size_t> left(n);
  std::iota(left.begin(), left.end(), 0);
  std::uint64_t state = 0x9e3779b97f4a7c15;
  std::int32_t next = 0;
  for (; rounds > 0; --rounds) {
    const std::size_t each = left.size() / sampled;
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < sampled; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const std::size_t at = i * each + static_cast<std::size_t>((state >> 32) * each >> 32);
      if (keys[left[at]] < 0) keys[left[at]] = next++;
      taken.push_back(at);
    }
    std::vector<std::int32_t> sample;
    for (const std::size_t at : taken) sample.push_back(keys[left[at]]);
    std::sort(sample.begin(), sample.end());
    const std::int32_t pivot = sample[sampled / 2];
    std::erase_if(left, [&](std::size_t at) { return keys[at] >= 0 && keys[at] < pivot; });
  }
  for (std::int32_t& key : keys) key = key < 0 ? next++ : key;
  return keys;
}

TEST_CASE("cpu sorts: pivots that are bad time and again") {
  with_tables([](const std::string& isa, const SortTable& table) {
    CAPTURE(isa);
    for (const std::size_t sampled : {32, 64, 128}) {
      check_sort(table.keys32, adverse(3500, sampled / 4, 40));
      check_sort(table.keys32, adverse(20'000, sampled / 2, 40));
      check_sort(table.keys32, adverse(70'000, sampled, 40));
    }
  });
}

TEST_CASE("cpu sorts: rows in place and apart, with NaN and zeros of either sign") {
  constexpr SortOrder<std::int32_t> rising{0, INT32_MIN, 0x7f800000};
  constexpr SortOrder<std::int32_t> falling{-1, INT32_MIN, 0x7f800000};
  constexpr std::int32_t some[] = {0, INT32_MIN, 0x7fc00001, -1, 0x3f800000, 0x7f800000, -8388608};
  with_tables([&](const std::string& isa, const SortTable& table) {
    CAPTURE(isa);
    for (const std::size_t n : {1, 2, 3, 5, 8, 9, 16, 17, 40, 100, 256, 257, 2048, 3000}) {
      CAPTURE(n);
      for (const SortOrder<std::int32_t>& order : {rising, falling}) {
        const std::size_t rows = 6000 / n + 1;
        Random random;
        std::vector<std::int32_t> x(rows * n);
        for (std::int32_t& bits : x) bits = some[random() % std::size(some)];
        std::vector<std::int32_t> expected = x, keys(n), to(x.size()), in_place = x;
        const auto key = [&](std::int32_t bits) {
          std::int32_t one;
          table.int32.to_keys(&bits, &one, 1, order);
          return one;
        };
        for (std::size_t i = 0; i < rows; ++i) {
          const auto row = expected.begin() + static_cast<std::ptrdiff_t>(i * n);
          std::stable_sort(row, row + static_cast<std::ptrdiff_t>(n),
                           [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
        }
        std::vector<std::int32_t> scratch(row_sort_scratch<std::int32_t, std::int32_t>(n, true));
        table.int32.rows(x.data(), to.data(), rows, n, order, scratch.data());
        REQUIRE(to == expected);
        table.int32.rows(in_place.data(), in_place.data(), rows, n, order, scratch.data());
        REQUIRE(in_place == expected);
      }
    }
  });
}

}  // namespace
}  // namespace tilewright::cpu
