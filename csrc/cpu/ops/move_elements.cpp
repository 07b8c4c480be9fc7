#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/few.hpp"
#include "cpu/ops/index_lines.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/words.hpp"
#include "tilewright/error.hpp"

// Elements by arrays of indices: those of a line become offsets, block by block, and then elements
// move, by their size alone.
namespace tilewright::cpu {

namespace {

constexpr Size block = index_block;
/// Blocks of a line whose offsets are kept for all lines that have the same.
constexpr Size most_kept = 64;
/// Threads that read the same indices at most: more of them would read longer than they write.
constexpr std::size_t most_shares = 8;
/// Places of a region, as a power of two: at least what the nearest caches hold.
constexpr unsigned region_bits = 17;
constexpr Size most_regions = 256;

/// Places of an output, in elements of its memory.
struct Places {
  Size first, past;
};

/// The walk: outer dimensions, a line along which indices move, and a row that moves as one.
class Walk {
 public:
  explicit Walk(const MoveRequest& r) : r_(r) {
    for (std::size_t i = 0; i < r.indices.size(); ++i) indices_.emplace_back(r, i);
    line_ = r.rank - 1;
    if (r.rank > 1 && still(line_)) {
      row_dim_ = line_--;
      row_ = r.shape()[row_dim_];
    }
    line_is_still_ = still(line_);
    length_ = r.shape()[line_];
    const MoveRequest::Index& first = r.indices[0];
    takes_directly_ = !r.scatter && indices_.size() == 1 && row_dim_ == 0 && first.stride == 1 &&
                      first.size <= std::numeric_limits<std::int32_t>::max() &&
                      indices_[0].stride(line_) == 1 && r.source_strides()[line_] == 0 &&
                      r.output_strides()[line_] == 1;
    blocks_ = (length_ + block - 1) / block;
  }
  Size outer() const { return r_.n / row_ / length_; }
  Size blocks() const { return blocks_; }
  Size row() const { return row_; }
  Size elements_of_block() const { return std::min(length_, block) * row_; }
  void check() const {
    for (const Indices& one : indices_) one.check();
  }
  /// Whether outer dimensions write to places of their own.
  bool outer_is_apart() const {
    for (std::size_t d = 0; d < line_; ++d) {
      if (!still(d) || r_.output_strides()[d] == 0) return false;
    }
    return true;
  }

  /// From the first one that a scatter may write to the last one, of the first of each row.
  Places places() const {
    Places all{r_.output.offset, r_.output.offset + 1};
    const auto add = [&](Size count, Size stride) {
      (stride < 0 ? all.first : all.past) += (count - 1) * stride;
    };
    for (std::size_t d = 0; d <= line_; ++d) add(r_.shape()[d], r_.output_strides()[d]);
    for (const MoveRequest::Index& index : r_.indices) add(index.size, index.stride);
    return all;
  }

  /// Blocks [begin, end) of all outer dimensions, and of their rows the elements [first, past).
  template <class T>
  void run(Size begin, Size end, Size first, Size past) const {
    if (!r_.scatter && row_dim_ == 0 && line_ > 0 && blocks_ <= most_kept && stays_before_line()) {
      if (blocks_ == 1) return short_lines<T>(begin, end, true);
      return same_lines<T>(begin, end);
    }
    if (!r_.scatter && row_dim_ == 0 && blocks_ == 1 && line_ > 0) {
      const Indices& one = indices_[0];
      const bool is_even =
          indices_.size() == 1 && one.stride(line_ - 1) == one.stride(line_) * length_;
      if (is_even && length_ <= block / 2) return short_lines<T>(begin, end, false);
    }
    for_blocks(begin, end,
               [&](const Place& place, Size from, Size count, Size source, Size output) {
                 lines<T>(place, from, count, source, output, first, past);
               });
  }
  /// Of a scatter: body(places, count, source, step) of each block, where places are those of its
  /// elements or rows, and source that of its first one.
  template <class Body>
  void for_places(Size begin, Size end, const Body& body) const {
    const Size source_step = r_.source_strides()[line_], output_step = r_.output_strides()[line_];
    for_blocks(begin, end,
               [&](const Place& place, Size from, Size count, Size source, Size output) {
                 std::array<Size, block> places;
                 add_indices(place, from, count, places.data());
                 const Size start = output + from * output_step;
                 for (Size j = 0; j < count; ++j) places[j] += start + j * output_step;
                 body(places.data(), count, source + from * source_step, source_step);
               });
  }
  /// One row, by the places of its first element.
  template <class T>
  void move_row(Size source, Size output) const {
    const Size none = 0;
    rows(data<T>(r_.source.allocation) + source, 0, data<T>(r_.output.allocation) + output, 0,
         &none, 1, 0, row_);
  }

 private:
  using Place = std::array<Size, max_rank>;

  template <class Body>
  void for_blocks(Size begin, Size end, const Body& body) const {
    Place place{};
    Size rest = begin / blocks_, source = r_.source.offset, output = r_.output.offset;
    for (std::size_t d = line_; d-- > 0;) {
      place[d] = rest % r_.shape()[d];
      rest /= r_.shape()[d];
      source += place[d] * r_.source_strides()[d];
      output += place[d] * r_.output_strides()[d];
    }
    for (Size unit = begin; unit < end;) {
      const Size last = std::min(end, (unit / blocks_ + 1) * blocks_);
      for (; unit < last; ++unit) {
        const Size from = unit % blocks_ * block;
        body(place, from, std::min(block, length_ - from), source, output);
      }
      for (std::size_t d = line_; d-- > 0;) {
        source += r_.source_strides()[d];
        output += r_.output_strides()[d];
        if (++place[d] < r_.shape()[d]) break;
        source -= place[d] * r_.source_strides()[d];
        output -= place[d] * r_.output_strides()[d];
        place[d] = 0;
      }
    }
  }

  /// Whether no index moves along a dimension.
  bool still(std::size_t d) const {
    return std::ranges::all_of(indices_, [&](const Indices& one) { return one.stride(d) == 0; });
  }

  void add_indices(const Place& place, Size from, Size count, Size* offsets) const {
    std::fill_n(offsets, count, 0);
    for (const Indices& one : indices_) {
      Size start = from * one.stride(line_);
      for (std::size_t d = 0; d < line_; ++d) start += place[d] * one.stride(d);
      one.add(start, one.stride(line_), count, offsets);
    }
  }

  /// Whether each line has the same indices.
  bool stays_before_line() const {
    for (std::size_t d = 0; d < line_; ++d) {
      if (!still(d)) return false;
    }
    return true;
  }
  /// Lines of few elements with the same offsets, which registers hold; whether they are few
  /// enough.
  template <class T>
  bool gather_few(const T* x, Size x_row, const Size* offsets, T* y, Size y_row, Size lines) const {
    constexpr std::size_t most = 16;
    const auto few = static_cast<std::size_t>(length_);
    return with_few<most>(few, [&]<std::size_t n>(std::integral_constant<std::size_t, n>) {
      std::array<Size, n> at;
      std::copy_n(offsets, n, at.begin());
      for (Size i = 0; i < lines; ++i, x += x_row, y += y_row) {
        for (std::size_t j = 0; j < n; ++j) y[j] = x[at[j]];
      }
    });
  }
  /// Lines of so many elements by their indices as they are, which lie one behind the other;
  /// whether they may be taken so.
  template <class T>
  bool take_directly(const Place& place, Size from, Size count, const T* x, Size x_row, T* y,
                     Size y_row, Size lines) const {
    if (!takes_directly_) return false;
    const Indices& one = indices_[0];
    Size start = from;
    for (std::size_t d = 0; d < line_; ++d) start += place[d] * one.stride(d);
    const auto take = [&]<class I>(const I* indices) {
      if (!all_within(indices, count * lines, r_.indices[0].size)) return false;
      take_lines(x, x_row, indices, y, y_row, count, lines);
      return true;
    };
    if (r_.indices[0].dtype == DType::int32) return take(one.at<std::int32_t>(start));
    return r_.indices[0].dtype == DType::int64 && take(one.at<std::int64_t>(start));
  }
  /// Blocks of lines that all have the same indices.
  template <class T>
  void same_lines(Size begin, Size end) const {
    const Size source_step = r_.source_strides()[line_], output_step = r_.output_strides()[line_];
    if (takes_directly_ && r_.indices[0].dtype == DType::int32) {
      const auto* const indices = indices_[0].at<std::int32_t>(0);
      if (all_within(indices, length_, r_.indices[0].size)) {
        return for_blocks(
            begin, end, [&](const Place&, Size from, Size count, Size source, Size output) {
              const T* const x = data<T>(r_.source.allocation) + source;
              gather_line(x, indices + from, data<T>(r_.output.allocation) + output + from, count);
            });
      }
    }
    std::vector<Size> offsets(static_cast<std::size_t>(length_));
    for (Size from = 0; from < length_; from += block) {
      Size* const at = offsets.data() + from;
      const Size count = std::min(block, length_ - from);
      add_indices({}, from, count, at);
      for (Size j = 0; j < count; ++j) at[j] += (from + j) * source_step;
    }
    for_blocks(begin, end, [&](const Place&, Size from, Size count, Size source, Size output) {
      const T* const x = data<T>(r_.source.allocation) + source;
      T* const y = data<T>(r_.output.allocation) + output + from * output_step;
      const Size* const at = offsets.data() + from;
      if (output_step == 1) return gather_line(x, at, y, count);
      for (Size j = 0; j < count; ++j) y[j * output_step] = x[at[j]];
    });
  }
  /// Lines of a gather that are one block each, with the same indices or with those of neighbours
  /// one behind the other: as many of them at a time as a block has indices for.
  template <class T>
  void short_lines(Size begin, Size end, bool same) const {
    std::array<Size, block> offsets;
    const std::size_t rows = line_ - 1;
    const Size source_step = r_.source_strides()[line_], output_step = r_.output_strides()[line_];
    const Size source_row = r_.source_strides()[rows], output_row = r_.output_strides()[rows];
    if (same) {
      add_indices({}, 0, length_, offsets.data());
      for (Size j = 0; j < length_; ++j) offsets[j] += j * source_step;
    }
    for (Size unit = begin, count; unit < end; unit += count) {
      Size rest = unit / r_.shape()[rows], from = r_.source.offset, to = r_.output.offset;
      const Size row = unit % r_.shape()[rows];
      count = std::min(end - unit, r_.shape()[rows] - row);
      Place place{};
      place[rows] = row;
      for (std::size_t d = rows; d-- > 0; rest /= r_.shape()[d]) {
        place[d] = rest % r_.shape()[d];
        from += place[d] * r_.source_strides()[d];
        to += place[d] * r_.output_strides()[d];
      }
      const T* x = data<T>(r_.source.allocation) + from + row * source_row;
      T* y = data<T>(r_.output.allocation) + to + row * output_row;
      if (!same) {
        count = std::min(count, block / length_);
        if (take_directly(place, 0, length_, x, source_row, y, output_row, count)) continue;
        add_indices(place, 0, count * length_, offsets.data());
      }
      const Size* at = offsets.data();
      if (same && output_step == 1 && gather_few(x, source_row, at, y, output_row, count)) continue;
      for (Size i = 0; i < count; ++i, x += source_row, y += output_row) {
        if (same && output_step == 1) {
          gather_line(x, at, y, length_);
          continue;
        }
        if (same) {
          for (Size j = 0; j < length_; ++j) y[j * output_step] = x[at[j]];
          continue;
        }
        for (Size j = 0; j < length_; ++j) y[j * output_step] = x[j * source_step + at[j]];
        at += length_;
      }
    }
  }

  template <class T>
  void lines(const Place& place, Size from, Size count, Size source, Size output, Size first,
             Size past) const {
    std::array<Size, block> offsets;
    const Size source_step = r_.source_strides()[line_], output_step = r_.output_strides()[line_];
    const T* x = data<T>(r_.source.allocation) + source + from * source_step;
    T* y = data<T>(r_.output.allocation) + output + from * output_step;
    if (line_is_still_ && row_dim_ == 0) {
      add_indices(place, from, 1, offsets.data());
      x += r_.scatter ? 0 : offsets[0];
      y += r_.scatter ? offsets[0] : 0;
      if (source_step == 1 && output_step == 1) {
        std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(T));
      } else {
        for (Size j = 0; j < count; ++j) y[j * output_step] = x[j * source_step];
      }
      return;
    }
    if (take_directly(place, from, count, x, 0, y, 0, 1)) return;
    add_indices(place, from, count, offsets.data());
    if (row_dim_ != 0) {
      return rows(x, source_step, y, output_step, offsets.data(), count, first, past);
    }
    if (r_.scatter && source_step == 1 && output_step == 0) {
      for (Size j = 0; j < count; ++j) y[offsets[j]] = x[j];
    } else if (r_.scatter) {
      for (Size j = 0; j < count; ++j) y[j * output_step + offsets[j]] = x[j * source_step];
    } else if (source_step == 0 && output_step == 1) {
      gather_line(x, offsets.data(), y, count);
    } else {
      for (Size j = 0; j < count; ++j) y[j * output_step] = x[j * source_step + offsets[j]];
    }
  }
  template <class T>
  void rows(const T* x, Size x_step, T* y, Size y_step, const Size* offsets, Size count, Size first,
            Size past) const {
    const Size x_stride = r_.source_strides()[row_dim_], y_stride = r_.output_strides()[row_dim_];
    for (Size j = 0; j < count; ++j) {
      const T* const from = x + j * x_step + (r_.scatter ? 0 : offsets[j]) + first * x_stride;
      T* const to = y + j * y_step + (r_.scatter ? offsets[j] : 0) + first * y_stride;
      if (x_stride == 1 && y_stride == 1) {
        copy_row(from, to, static_cast<std::size_t>(past - first) * sizeof(T));
      } else {
        for (Size i = 0; i < past - first; ++i) to[i * y_stride] = from[i * x_stride];
      }
    }
  }

  const MoveRequest& r_;
  std::vector<Indices> indices_;
  std::size_t line_, row_dim_ = 0;
  bool line_is_still_;   // whether no index moves along the line
  bool takes_directly_;  // whether an index is the place in a line of the source
  Size row_ = 1, length_, blocks_;
};

std::size_t grain_of(Size elements) {
  return element_grain / static_cast<std::size_t>(std::max<Size>(elements, 1)) + 1;
}

/// Rows by threads that each write a range of places, of which all read all indices.
template <class T>
void scatter_rows(const Walk& walk, Size units, std::size_t threads) {
  const Places all = walk.places();
  const Size step = (all.past - all.first) / static_cast<Size>(threads) + 1;
  parallel_tasks(threads, [&](std::size_t thread) {
    const Size own = all.first + static_cast<Size>(thread) * step;
    walk.for_places(0, units, [&](const Size* places, Size count, Size source, Size source_step) {
      for (Size j = 0; j < count; ++j) {
        const bool is_own = places[j] >= own && places[j] - own < step;
        if (is_own) walk.move_row<T>(source + j * source_step, places[j]);
      }
    });
  });
}

/// Elements to places all over memory that no near cache holds: first brought to regions that one
/// does, in their order.
template <class T>
void scatter_by_regions(const MoveRequest& r, const Walk& walk, Size units, MemoryPool& pool) {
  const auto n = static_cast<std::size_t>(r.n);
  const Places all = walk.places();
  unsigned shift = region_bits;
  while ((all.past - all.first) >> shift >= most_regions) ++shift;
  const std::size_t regions = static_cast<std::size_t>((all.past - all.first) >> shift) + 1;
  const std::size_t chunks = std::min(thread_count(), n / element_grain);
  const std::size_t floats_of_places = Scratch::rounded(n);
  OpScratch own(pool, r.call(), floats_of_places + Scratch::rounded(n * sizeof(T) / 4 + 1));
  Scratch scratch(own);
  auto* const places = reinterpret_cast<std::uint32_t*>(scratch.take(n));
  T* const values = reinterpret_cast<T*>(scratch.take(n * sizeof(T) / 4 + 1));
  const auto chunk = [&](std::size_t c) {
    return units * static_cast<Size>(c) / static_cast<Size>(chunks);
  };
  using Counts = std::array<std::size_t, most_regions>;
  std::vector<Counts> next(chunks);
  parallel_tasks(chunks, [&](std::size_t c) {
    Counts counts{};
    walk.for_places(chunk(c), chunk(c + 1), [&](const Size* at, Size count, Size, Size) {
      for (Size j = 0; j < count; ++j)
        ++counts[static_cast<std::size_t>((at[j] - all.first) >> shift)];
    });
    next[c] = counts;
  });
  std::array<std::size_t, most_regions + 1> starts;
  std::size_t before = 0;
  for (std::size_t region = 0; region < regions; ++region) {
    starts[region] = before;
    for (Counts& of_chunk : next) before += std::exchange(of_chunk[region], before);
  }
  starts[regions] = before;
  const T* const x = data<T>(r.source.allocation);
  T* const y = data<T>(r.output.allocation) + all.first;
  parallel_tasks(chunks, [&](std::size_t c) {
    Counts to = next[c];
    walk.for_places(chunk(c), chunk(c + 1), [&](const Size* at, Size count, Size from, Size step) {
      for (Size j = 0; j < count; ++j) {
        const auto place = static_cast<std::uint64_t>(at[j] - all.first);
        const std::size_t slot = to[place >> shift]++;
        places[slot] = static_cast<std::uint32_t>(place & ((std::uint64_t{1} << shift) - 1));
        values[slot] = x[from + j * step];
      }
    });
  });
  parallel_tasks(regions, [&](std::size_t region) {
    T* const to = y + (region << shift);
    for (std::size_t i = starts[region]; i < starts[region + 1]; ++i) to[places[i]] = values[i];
  });
}

template <class T>
void move_to_places(const MoveRequest& r, const Walk& walk, MemoryPool& pool) {
  const Size units = walk.outer() * walk.blocks();
  const auto n = static_cast<std::size_t>(r.n);
  const std::size_t threads = std::min(n / element_grain, thread_count());
  const Places all = walk.places();
  // Of equal places the last one counts: threads share no place.
  if (walk.outer() > 1 && walk.outer_is_apart()) {
    walk.check();
    return parallel_for(static_cast<std::size_t>(walk.outer()), grain_of(r.n / walk.outer()),
                        [&](std::size_t begin, std::size_t end) {
                          walk.run<T>(static_cast<Size>(begin) * walk.blocks(),
                                      static_cast<Size>(end) * walk.blocks(), 0, walk.row());
                        });
  }
  if (walk.row() == 1 && threads > 1 && (all.past - all.first) >> region_bits > 1 &&
      (all.past - all.first) >> 32 < most_regions) {
    try {
      return scatter_by_regions<T>(r, walk, units, pool);
    } catch (const OutOfMemory&) {
      // One thread needs no room.
    } catch (const IndexOutOfRange&) {
      // Of several the first one is named.
    }
  }
  walk.check();
  if (walk.row() > 1 && threads > 1 && r.n / walk.row() >= 16 * static_cast<Size>(threads)) {
    return scatter_rows<T>(walk, units, std::min(threads, most_shares));
  }
  parallel_for(static_cast<std::size_t>(walk.row()), grain_of(r.n / walk.row()),
               [&](std::size_t begin, std::size_t end) {
                 walk.run<T>(0, units, static_cast<Size>(begin), static_cast<Size>(end));
               });
}

void move_from_places(const MoveRequest& r) {
  const Walk walk(r);
  with_item(r.item, [&]<class T>(T) {
    parallel_for(static_cast<std::size_t>(walk.outer() * walk.blocks()),
                 grain_of(walk.elements_of_block()), [&](std::size_t begin, std::size_t end) {
                   walk.run<T>(static_cast<Size>(begin), static_cast<Size>(end), 0, walk.row());
                 });
  });
}

}  // namespace

void CpuBackend::do_gather_elements(const MoveRequest& r) { move_from_places(r); }

void CpuBackend::do_scatter_elements(const MoveRequest& r) {
  const Walk walk(r);
  with_item(r.item, [&]<class T>(T) { move_to_places<T>(r, walk, *memory_); });
}

}  // namespace tilewright::cpu
