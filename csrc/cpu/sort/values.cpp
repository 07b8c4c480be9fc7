#include "cpu/sort/values.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/elements.hpp"
#include "cpu/scratch.hpp"
#include "cpu/sort/counted.hpp"
#include "cpu/sort/order.hpp"
#include "cpu/sort/shared.hpp"

namespace tilewright::cpu {

namespace {

/// NaN, or zeros of either sign, in the order of the row, to where they belong.
template <class E, class Take>
void put_back(const E* row, std::size_t n, E* room, E* to, const Take& take) {
  const RowChunks chunks(n);
  std::vector<std::size_t> counts(chunks.count), starts(chunks.count);
  chunks.each([&](std::size_t c) {
    const std::size_t begin = chunks.begin(c);
    counts[c] = take(row + begin, chunks.end(c) - begin, room + begin);
  });
  for (std::size_t c = 1; c < chunks.count; ++c) starts[c] = starts[c - 1] + counts[c - 1];
  chunks.each(
      [&](std::size_t c) { std::copy_n(room + chunks.begin(c), counts[c], to + starts[c]); });
}

/// Rows of one dtype.
template <class E, class S>
class ValueSort {
 public:
  ValueSort(const SortRequest& r, const ElementSorts<E, S>& elements, const KeySorts<S>& keys)
      : r_(r),
        n_(static_cast<std::size_t>(r.length)),
        in_place_(r.values == r.input),
        order_(order_of<E, S>(r)),
        elements_(elements),
        keys_(keys) {}

  void run(MemoryPool& pool) const {
    const auto rows = static_cast<std::size_t>(r_.rows);
    const bool is_shared = thread_count() > 1 && rows < 4 * thread_count() && n_ >= least_shared;
    const std::size_t pieces =
        is_shared ? 1 : std::clamp<std::size_t>(piece_count(rows * n_, element_grain / 8), 1, rows);
    const std::size_t scratch = row_sort_scratch<E, S>(n_, order_.infinity != 0 && in_place_);
    const std::size_t floats = scratch * sizeof(S) / sizeof(float);
    OpScratch all(pool, r_.op, floats, pieces);
    const auto sort = [&](std::size_t piece) {
      Scratch own(all);
      S* const room = reinterpret_cast<S*>(own.take(floats));
      const std::size_t begin = rows * piece / pieces, end = rows * (piece + 1) / pieces;
      const E* const from = data<E>(r_.input) + begin * n_;
      E* const to = data<E>(r_.values) + begin * n_;
      if (!is_shared && !is_counted()) {
        return elements_.rows(from, to, end - begin, n_, order_, room);
      }
      for (std::size_t i = 0; i < end - begin; ++i) sort_row(from + i * n_, to + i * n_, room);
    };
    if (pieces == 1) return sort(0);
    parallel_tasks(pieces, sort);
  }

 private:
  static constexpr bool is_narrow = sizeof(E) < sizeof(S);
  static constexpr std::size_t least_shared = SharedSort<S>::least;

  bool is_counted() const {
    if constexpr (is_narrow) return n_ >= std::max<std::size_t>(CountedSort<E>::values, 1024);
    return false;
  }

  /// By counts, or on all threads.
  void sort_row(const E* from, E* to, S* room) const {
    E* const spare = reinterpret_cast<E*>(room);
    E* const copy = reinterpret_cast<E*>(room + (n_ + 15) / 16 * 16);
    if (is_in_order(from)) {
      if (!in_place_) copy_row(from, to);
      return;
    }
    if constexpr (is_narrow) {
      const CountedSort<E> counted(from, n_, order_);
      const E* const row = counted.has_special() && in_place_ ? copy_row(from, copy) : from;
      counted.write(to);
      if (counted.has_special()) restore(row, spare, to, counted.zeros_at(), counted.nans_at());
    } else {
      std::atomic<bool> special = false;
      parallel_for(n_, element_grain, [&](std::size_t begin, std::size_t end) {
        if (elements_.to_keys(from + begin, spare + begin, end - begin, order_)) special = true;
      });
      const E* const row = special && in_place_ ? copy_row(from, copy) : from;
      const auto back = [&](std::size_t first, std::size_t count) {
        elements_.from_keys(to + first, to + first, count, order_);
      };
      const SharedSort<S> sort(keys_);
      if (!special) return sort.sort(to, spare, n_, back);
      sort.sort(to, spare, n_, [](std::size_t, std::size_t) {});
      const auto below = [&](S key) {
        return static_cast<std::size_t>(std::lower_bound(to, to + n_, key) - to);
      };
      const std::size_t zeros = below(order_.turn), nans = below(std::numeric_limits<S>::max());
      parallel_for(n_, element_grain,
                   [&](std::size_t begin, std::size_t end) { back(begin, end - begin); });
      restore(row, spare, to, zeros, nans);
    }
  }
  bool is_in_order(const E* row) const {
    constexpr std::size_t block = 1 << 12;
    const RowChunks chunks(n_);
    std::atomic<bool> falls = false;
    chunks.each([&](std::size_t c) {
      for (std::size_t i = chunks.begin(c); i < chunks.end(c) && !falls; i += block) {
        // With the first one of the next block.
        const std::size_t count = std::min(block, chunks.end(c) - i) + 1;
        if (!elements_.in_order(row + i, std::min(count, n_ - i), order_)) falls = true;
      }
    });
    return !falls;
  }
  const E* copy_row(const E* row, E* to) const {
    parallel_for(n_, element_grain, [&](std::size_t begin, std::size_t end) {
      std::copy(row + begin, row + end, to + begin);
    });
    return to;
  }
  void restore(const E* row, E* room, E* to, std::size_t zeros, std::size_t nans) const {
    put_back(row, n_, room, to + zeros, [&](const E* x, std::size_t n, E* into) {
      return elements_.take_zeros(x, n, order_, into);
    });
    put_back(row, n_, room, to + nans, [&](const E* x, std::size_t n, E* into) {
      return elements_.take_nans(x, n, order_, into);
    });
  }

  const SortRequest& r_;
  const std::size_t n_;
  const bool in_place_;
  const SortOrder<S> order_;
  const ElementSorts<E, S>& elements_;
  const KeySorts<S>& keys_;
};

}  // namespace

void sort_values(MemoryPool& pool, const SortRequest& r) {
  const SortTable& table = sort_table();
  switch (size_of(r.dtype)) {
    case 1:
      return ValueSort(r, table.int8, table.keys32).run(pool);
    case 2:
      return ValueSort(r, table.int16, table.keys32).run(pool);
    case 4:
      return ValueSort(r, table.int32, table.keys32).run(pool);
    default:
      return ValueSort(r, table.int64, table.keys64).run(pool);
  }
}

}  // namespace tilewright::cpu
