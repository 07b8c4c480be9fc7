#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/kernels/sort_table.hpp"
#include "cpu/row_chunks.hpp"

namespace tilewright::cpu {

/// Sorts one long row of keys on all threads: each partitions its share by keys of a sample, what
/// belongs together is brought together, and parts are sorted by one thread each.
template <class S>
class SharedSort {
 public:
  /// From here on a row is worth it.
  static constexpr std::size_t least = 1 << 16;

  explicit SharedSort(const KeySorts<S>& kernels) : kernels_(kernels) {}

  /// Sorts n keys that are in `spare` into `to`. done(first, count) follows each part.
  template <class Done>
  void sort(S* to, S* spare, std::size_t n, const Done& done) const {
    const RowChunks chunks(n, least / 2);
    const std::vector<S> ends = choose_ends(spare, n, 4 * chunks.count);
    const std::size_t parts = ends.size();
    std::vector<std::size_t> sizes(chunks.count * parts), places(sizes.size()), starts(parts + 1);
    chunks.each([&](std::size_t c) {
      const std::size_t begin = chunks.begin(c);
      split(spare + begin, spare + begin, to + begin, chunks.end(c) - begin, ends, 0, parts - 1,
            &sizes[c * parts]);
    });
    std::size_t place = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      starts[part] = place;
      for (std::size_t c = 0; c < chunks.count; ++c) {
        places[c * parts + part] = place;
        place += sizes[c * parts + part];
      }
    }
    starts[parts] = n;
    chunks.each([&](std::size_t c) {
      const S* from = spare + chunks.begin(c);
      for (std::size_t i = c * parts; i < (c + 1) * parts; ++i) {
        std::copy_n(from, sizes[i], to + places[i]);
        from += sizes[i];
      }
    });
    parallel_tasks(parts, [&](std::size_t part) {
      const std::size_t start = starts[part], size = starts[part + 1] - start;
      const bool is_one_key = part > 0 && ends[part] - 1 == ends[part - 1];
      if (!is_one_key) kernels_.sort(to + start, to + start, spare + start, size);
      done(start, size);
    });
  }

 private:
  /// The last key of each part. One that many have makes a part of its own.
  std::vector<S> choose_ends(const S* keys, std::size_t n, std::size_t parts) const {
    const std::size_t count = 32 * parts, each = n / count;
    std::vector<S> sample(count), spare(count), ends;
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      sample[i] = keys[i * each + (state >> 33) % each];
    }
    kernels_.sort(sample.data(), sample.data(), spare.data(), count);
    for (std::size_t part = 1; part < parts; ++part) {
      const S key = sample[count * part / parts], next = sample[count * (part + 1) / parts - 1];
      const bool is_common = key == next && key != std::numeric_limits<S>::min();
      if (is_common && (ends.empty() || ends.back() < key - 1)) ends.push_back(key - 1);
      if (ends.empty() || ends.back() < key) ends.push_back(key);
    }
    if (ends.empty() || ends.back() < std::numeric_limits<S>::max()) {
      ends.push_back(std::numeric_limits<S>::max());
    }
    return ends;
  }

  /// Brings n keys of `from`, which is `to` or `spare`, into the order of the parts [first, last],
  /// in `to`.
  void split(const S* from, S* to, S* spare, std::size_t n, const std::vector<S>& ends,
             std::size_t first, std::size_t last, std::size_t* sizes) const {
    if (first == last) {
      if (from != to) std::copy_n(from, n, to);
      sizes[first] = n;
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const std::size_t low = kernels_.partition(from, n, ends[middle], to, spare);
    split(to, to, spare + (n - low), low, ends, first, middle, sizes);
    split(spare, to + low, spare, n - low, ends, middle + 1, last, sizes);
  }

  const KeySorts<S>& kernels_;
};

}  // namespace tilewright::cpu
