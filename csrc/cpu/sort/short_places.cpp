#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/elements.hpp"
#include "cpu/scratch.hpp"
#include "cpu/sort/order.hpp"
#include "cpu/sort/values.hpp"

namespace tilewright::cpu {

namespace {

/// Elements that are sorted at a time: what the nearest cache has room for.
constexpr std::size_t block = 2048;

template <class E, class S, class W>
class PlaceSort {
 public:
  PlaceSort(const SortRequest& r, const ElementPlaces<E, S, W>& kernels)
      : r_(r), kernels_(kernels), order_(order_of<E, S>(r)) {}

  void run(MemoryPool& pool) const {
    const auto rows = static_cast<std::size_t>(r_.rows), n = static_cast<std::size_t>(r_.length);
    const std::size_t at_once = std::max<std::size_t>(block / n, 1);
    const std::size_t groups = (rows + at_once - 1) / at_once;
    const std::size_t pieces =
        std::clamp<std::size_t>(piece_count(rows * n, element_grain / 8), 1, groups);
    const std::size_t floats = 3 * at_once * n * sizeof(W) / sizeof(float);
    OpScratch all(pool, r_.op, floats, pieces);
    const auto sort = [&](std::size_t piece) {
      Scratch own(all);
      W* const placed = reinterpret_cast<W*>(own.take(floats));
      for (std::size_t i = groups * piece / pieces; i < groups * (piece + 1) / pieces; ++i) {
        const std::size_t row = i * at_once, count = std::min(at_once, rows - row);
        kernels_.rows(data<E>(r_.input) + row * n, count, n, order_, placed, placed + at_once * n);
        for (std::size_t j = 0; j < count; ++j) write(row + j, placed + j * n);
      }
    };
    if (pieces == 1) return sort(0);
    parallel_tasks(pieces, sort);
  }

 private:
  void write(std::size_t row, const W* placed) const {
    const auto n = static_cast<std::size_t>(r_.length), kept = static_cast<std::size_t>(r_.kept);
    const unsigned bits = sizeof(E) == sizeof(W) ? placed_bits(n) : 4 * sizeof(W);
    const W mask = static_cast<W>((W{1} << bits) - 1);
    const auto write_places = [&]<class T>(T* to) {
      for (std::size_t i = 0; i < kept; ++i) to[i] = static_cast<T>(placed[i] & mask);
    };
    if (r_.index_dtype == DType::int64) {
      write_places(data<std::int64_t>(r_.indices) + row * kept);
    } else {
      write_places(data<std::int32_t>(r_.indices) + row * kept);
    }
    if (!r_.values) return;
    const E* const from = data<E>(r_.input) + row * n;
    E* const to = data<E>(r_.values) + row * kept;
    for (std::size_t i = 0; i < kept; ++i) to[i] = from[placed[i] & mask];
  }

  const SortRequest& r_;
  const ElementPlaces<E, S, W>& kernels_;
  const SortOrder<S> order_;
};

}  // namespace

bool has_short_rows(const SortRequest& r) {
  // Ties of 64 bits are put into order by insertion.
  const Size most = size_of(r.dtype) == 8 ? 2048 : r.kept <= r.length / 8 ? 4096 : 65536;
  // Very few are better selected, where rows are long beside what each of them costs. Short words
  // are sorted in half the time.
  constexpr Size long_floats = 160;
  const Size words = size_of(r.dtype) < 4 ? 2 : 1;
  const Size selected =
      r.dtype == DType::float32 ? long_floats : words * std::min<Size>(192 + 64 * r.kept, 1536);
  return r.length <= (r.kept <= r.length / 32 ? selected : most);
}

void sort_short_places(MemoryPool& pool, const SortRequest& r) {
  const SortTable& table = sort_table();
  switch (size_of(r.dtype)) {
    case 1:
      return PlaceSort(r, table.places8).run(pool);
    case 2:
      return PlaceSort(r, table.places16).run(pool);
    case 4:
      return PlaceSort(r, table.places32).run(pool);
    default:
      return PlaceSort(r, table.places64).run(pool);
  }
}

}  // namespace tilewright::cpu
