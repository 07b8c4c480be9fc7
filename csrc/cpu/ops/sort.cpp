#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/requests.hpp"
#include "core/sort_keys.hpp"
#include "core/text.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/scratch.hpp"
#include "cpu/sort/radix.hpp"
#include "cpu/sort/select_row.hpp"
#include "cpu/sort/values.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

namespace {

/// Whether so few elements of each row are wanted that the others are not sorted.
bool selects(const SortRequest& r) { return r.kept <= r.length / 8; }

template <class Body>
void with_keys(const SortRequest& r, const Body& body) {
  const SortKeys keys = sort_keys(r.dtype, r.descending);
  if (keys.bits == 8) return body(std::uint8_t{}, KeyOf<std::uint8_t, false>(keys));
  const auto of_width = [&]<class U>(U bits) {
    if (!keys.is_float()) return body(bits, KeyOf<U, false>(keys));
    const auto n = static_cast<std::size_t>(r.rows * r.length);
    if (!selects(r) && are_plain(data<U>(r.input), n, keys)) return body(bits, KeyOfPlain<U>(keys));
    return body(bits, KeyOf<U, true>(keys));
  };
  if (keys.bits == 16) return of_width(std::uint16_t{});
  if (keys.bits == 32) return of_width(std::uint32_t{});
  return of_width(std::uint64_t{});
}

/// Memory of an op for items, as floats.
template <class Item>
std::size_t floats_for(std::size_t items) {
  return (items * sizeof(Item) + sizeof(float) - 1) / sizeof(float);
}

/// One row after another, or all of them at once, by how many there are and how long.
template <class Body>
void for_sorted_rows(MemoryPool& pool, const SortRequest& r, std::size_t floats, const Body& body) {
  const auto rows = static_cast<std::size_t>(r.rows), length = static_cast<std::size_t>(r.length);
  constexpr std::size_t row_grain = element_grain / 8;
  const bool together = rows >= 4 * thread_count() || RowChunks(length).count == 1;
  const std::size_t pieces =
      together ? std::clamp<std::size_t>(piece_count(rows * length, row_grain), 1, rows) : 1;
  OpScratch all(pool, r.op, floats, pieces);
  const auto run = [&](std::size_t piece) {
    Scratch scratch(all);
    float* const own = scratch.take(floats);
    for (std::size_t i = rows * piece / pieces; i < rows * (piece + 1) / pieces; ++i) body(i, own);
  };
  if (pieces == 1) return run(0);
  parallel_tasks(pieces, run);
}

/// The places of the first `kept` items.
template <class U>
void write_items(const SortRequest& r, std::size_t row, const Indexed<U>* items) {
  const auto kept = static_cast<std::size_t>(r.kept);
  const auto write = [&]<class T>(T* to, const auto& value) {
    const RowChunks chunks(kept);
    chunks.each([&](std::size_t c) {
      for (std::size_t i = chunks.begin(c); i < chunks.end(c); ++i) {
        to[row * kept + i] = static_cast<T>(value(items[i]));
      }
    });
  };
  if (r.values) write(data<U>(r.values), [](const Indexed<U>& item) { return item.raw; });
  const auto place = [](const Indexed<U>& item) { return item.place; };
  if (r.index_dtype == DType::int64) {
    write(data<std::int64_t>(r.indices), place);
  } else {
    write(data<std::int32_t>(r.indices), place);
  }
}

template <class U, class Key>
void sort_items(MemoryPool& pool, const SortRequest& r, Key key) {
  using Item = Indexed<U>;
  const auto n = static_cast<std::size_t>(r.length);
  for_sorted_rows(pool, r, floats_for<Item>(2 * n), [&](std::size_t row, float* scratch) {
    const U* from = data<U>(r.input) + row * n;
    Item* const items = reinterpret_cast<Item*>(scratch);
    const auto read = [from](std::size_t i) {
      return Item{from[i], static_cast<std::uint32_t>(i)};
    };
    const RowSort<U, Item, Key, decltype(read)> sort(n, key, read);
    write_items<U>(r, row, sort.sort(items, items + n, false));
  });
}

/// Of a part of a row.
template <class U, class Key>
Selected select_part(const SortRequest& r, const U* row, std::size_t begin, std::size_t end,
                     Key key, Indexed<U>* found) {
  const auto k = static_cast<std::size_t>(r.kept);
  if constexpr (std::is_same_v<U, std::uint32_t>) {
    float limit;
    if (r.dtype == DType::float32 && has_limit(end - begin, k) &&
        limit_of_row(reinterpret_cast<const float*>(row) + begin, end - begin, k, r.descending,
                     limit)) {
      return r.descending
                 ? select_row(row, begin, end, k, key, BeforeNumber<true>{limit}, 0, found)
                 : select_row(row, begin, end, k, key, BeforeNumber<false>{limit}, 0, found);
    }
  }
  const std::size_t first = std::min(end - begin, selection_room(k));
  return select_row(row, begin, end, k, key, BeforeKey<U, Key>{key}, first, found);
}

/// The first `kept` elements of each row without sorting the others.
template <class U, class Key>
void select_items(MemoryPool& pool, const SortRequest& r, Key key) {
  using Item = Indexed<U>;
  const auto n = static_cast<std::size_t>(r.length), k = static_cast<std::size_t>(r.kept);
  const RowChunks chunks(n, std::max<std::size_t>(1 << 16, 8 * k));
  const std::size_t room = selection_room(k);
  const std::size_t floats = floats_for<Item>(chunks.count * room + k);
  for_sorted_rows(pool, r, floats, [&](std::size_t row, float* scratch) {
    Item* const found = reinterpret_cast<Item*>(scratch);
    const U* const from = data<U>(r.input) + row * n;
    Selected all{};
    if (chunks.count == 1) {
      all = select_part(r, from, 0, n, key, found);
    } else {
      std::vector<std::size_t> counts(chunks.count);
      chunks.each([&](std::size_t c) {
        counts[c] =
            select_part(r, from, chunks.begin(c), chunks.end(c), key, found + c * room).count;
      });
      all.count = counts[0];
      for (std::size_t c = 1; c < chunks.count; ++c) {
        std::copy_n(found + c * room, counts[c], found + all.count);
        all.count += counts[c];
      }
    }
    Item* const spare = found + chunks.count * room;
    if (all.in_order && all.count <= most_inserted) {
      const RowSort<U, Item, Key, ItemsAt<Item>> sort(all.count, key, {found});
      return write_items<U>(r, row, sort.sort(found, spare, true));
    }
    if (all.count > k) drop_last(found, all.count, k, key);
    const auto place = [](const Item& item) { return item.place; };
    const RowSort<std::uint32_t, Item, decltype(place), ItemsAt<Item>> back(k, place, {found});
    Item* const in_row = back.sort(found, spare, true);
    const RowSort<U, Item, Key, ItemsAt<Item>> sort(k, key, {in_row});
    write_items<U>(r, row, sort.sort(in_row, in_row == found ? spare : found, true));
  });
}

}  // namespace

void CpuBackend::do_sort(const SortRequest& r) {
  if (!r.indices) return sort_values(*memory_, r);
  if (has_short_rows(r)) return sort_short_places(*memory_, r);
  constexpr Size most = std::numeric_limits<std::uint32_t>::max();
  if (r.length > most) {
    throw Unsupported(text(r.op, ": rows of ", r.length, " elements; places are counted to ", most,
                           ", so sort parts of the rows"));
  }
  with_keys(r, [&]<class U>(U, const auto& key) {
    if (selects(r)) {
      select_items<U>(*memory_, r, key);
    } else {
      sort_items<U>(*memory_, r, key);
    }
  });
}

}  // namespace tilewright::cpu
