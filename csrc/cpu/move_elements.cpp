#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/requests.hpp"
#include "core/text.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/words.hpp"
#include "tilewright/error.hpp"

// Elements by arrays of indices: those of a line become offsets, block by block, and then elements
// move, by their size alone.
namespace tilewright::cpu {

namespace {

constexpr Size block = 512;

[[noreturn]] void outside(const MoveRequest& r, const MoveRequest::Index& index,
                          const std::string& value) {
  throw IndexOutOfRange(text(r.name, ": index ", value, " is out of range for axis ", index.axis,
                             " of ", index.size, " elements"));
}

/// Adds the offsets that `count` indices make; the place of one that is outside, or -1.
template <class T>
Size add_offsets(const std::byte* memory, Size first, Size step, Size count,
                 const MoveRequest::Index& index, Size* offsets) {
  const T* const at = reinterpret_cast<const T*>(memory) + first;
  const auto size = static_cast<std::uint64_t>(index.size);
  const auto place = [&](T value) {
    const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    if constexpr (std::is_signed_v<T>) return bits + (value < 0 ? size : 0);
    return bits;
  };
  bool all_inside = true;
  const auto add = [&](auto index_step, auto stride) {
    for (Size j = 0; j < count; ++j) {
      const std::uint64_t value = place(at[j * index_step]);
      all_inside &= value < size;
      offsets[j] += static_cast<Size>(value) * stride;
    }
  };
  using One = std::integral_constant<Size, 1>;
  if (step == 1 && index.stride == 1) {
    add(One(), One());
  } else {
    add(step, index.stride);
  }
  if (all_inside) return -1;
  for (Size j = 0;; ++j) {
    if (place(at[j * step]) >= size) return j;
  }
}

/// The indices of one array, whatever their dtype is.
class Indices {
 public:
  Indices(const MoveRequest& r, std::size_t i)
      : r_(r),
        index_(r.indices[i]),
        strides_(r.index_strides(i)),
        memory_(data<std::byte>(index_.operand.allocation)) {
    with_integer(index_.dtype, [&]<class T>(T) {
      add_ = add_offsets<T>;
      show_ = [](const std::byte* memory, Size at) {
        return text(static_cast<std::conditional_t<std::is_signed_v<T>, Size, std::uint64_t>>(
            reinterpret_cast<const T*>(memory)[at]));
      };
    });
  }
  Size stride(std::size_t d) const { return strides_[d]; }
  /// From the element `first` places behind the first one.
  void add(Size first, Size step, Size count, Size* offsets) const {
    const Size from = index_.operand.offset + first;
    const Size bad = add_(memory_, from, step, count, index_, offsets);
    if (bad >= 0) outside(r_, index_, show_(memory_, from + bad * step));
  }
  /// Throws where one of them is outside.
  void check() const {
    std::array<Size, block> offsets{};
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < r_.rank; ++d) {
      if (strides_[d] != 0) dims.push_back(d);
    }
    if (dims.empty()) return add(0, 0, 1, offsets.data());
    const std::size_t line = dims.back();
    dims.pop_back();
    std::vector<Size> place(dims.size(), 0);
    for (bool more = true; more;) {
      Size first = 0;
      for (std::size_t i = 0; i < dims.size(); ++i) first += place[i] * strides_[dims[i]];
      for (Size j = 0; j < r_.shape()[line]; j += block) {
        add(first + j * strides_[line], strides_[line], std::min(block, r_.shape()[line] - j),
            offsets.data());
      }
      more = false;
      for (std::size_t i = dims.size(); i-- > 0 && !more;) {
        more = ++place[i] < r_.shape()[dims[i]];
        if (!more) place[i] = 0;
      }
    }
  }

 private:
  const MoveRequest& r_;
  const MoveRequest::Index& index_;
  const std::span<const Size> strides_;
  const std::byte* const memory_;
  Size (*add_)(const std::byte*, Size, Size, Size, const MoveRequest::Index&, Size*);
  std::string (*show_)(const std::byte*, Size);
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
    length_ = r.shape()[line_];
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

  /// Blocks [begin, end) of all outer dimensions, and of their rows the elements [first, past).
  template <class T>
  void run(Size begin, Size end, Size first, Size past) const {
    std::array<Size, max_rank> place{};
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
        lines<T>(place, from, std::min(block, length_ - from), source, output, first, past);
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

 private:
  /// Whether no index moves along a dimension.
  bool still(std::size_t d) const {
    return std::ranges::all_of(indices_, [&](const Indices& one) { return one.stride(d) == 0; });
  }

  template <class T>
  void lines(const std::array<Size, max_rank>& place, Size from, Size count, Size source,
             Size output, Size first, Size past) const {
    std::array<Size, block> offsets;
    std::fill_n(offsets.begin(), count, 0);
    for (const Indices& one : indices_) {
      Size start = from * one.stride(line_);
      for (std::size_t d = 0; d < line_; ++d) start += place[d] * one.stride(d);
      one.add(start, one.stride(line_), count, offsets.data());
    }
    const Size source_step = r_.source_strides()[line_], output_step = r_.output_strides()[line_];
    const T* x = data<T>(r_.source.allocation) + source + from * source_step;
    T* y = data<T>(r_.output.allocation) + output + from * output_step;
    if (row_dim_ != 0) {
      return rows(x, source_step, y, output_step, offsets.data(), count, first, past);
    }
    if (r_.scatter && source_step == 1 && output_step == 0) {
      for (Size j = 0; j < count; ++j) y[offsets[j]] = x[j];
    } else if (r_.scatter) {
      for (Size j = 0; j < count; ++j) y[j * output_step + offsets[j]] = x[j * source_step];
    } else if (source_step == 0 && output_step == 1) {
      for (Size j = 0; j < count; ++j) y[j] = x[offsets[j]];
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
        std::memcpy(to, from, static_cast<std::size_t>(past - first) * sizeof(T));
      } else {
        for (Size i = 0; i < past - first; ++i) to[i * y_stride] = from[i * x_stride];
      }
    }
  }

  const MoveRequest& r_;
  std::vector<Indices> indices_;
  std::size_t line_, row_dim_ = 0;
  Size row_ = 1, length_, blocks_;
};

std::size_t grain_of(Size elements) {
  return element_grain / static_cast<std::size_t>(std::max<Size>(elements, 1)) + 1;
}

void move_elements(const MoveRequest& r) {
  const Walk walk(r);
  // Before anything is written over.
  if (r.scatter) walk.check();
  const Size units = walk.outer() * walk.blocks();
  with_item(r.item, [&]<class T>(T) {
    const auto run = [&](std::size_t count, Size scale, Size elements) {
      parallel_for(count, grain_of(elements), [&](std::size_t begin, std::size_t end) {
        walk.run<T>(static_cast<Size>(begin) * scale, static_cast<Size>(end) * scale, 0,
                    walk.row());
      });
    };
    if (!r.scatter) return run(static_cast<std::size_t>(units), 1, walk.elements_of_block());
    // Of equal places the last one counts: threads share no place.
    if (walk.outer() > 1 && walk.outer_is_apart()) {
      return run(static_cast<std::size_t>(walk.outer()), walk.blocks(), r.n / walk.outer());
    }
    parallel_for(static_cast<std::size_t>(walk.row()), grain_of(r.n / walk.row()),
                 [&](std::size_t begin, std::size_t end) {
                   walk.run<T>(0, units, static_cast<Size>(begin), static_cast<Size>(end));
                 });
  });
}

}  // namespace

void CpuBackend::do_gather_elements(const MoveRequest& r) { move_elements(r); }
void CpuBackend::do_scatter_elements(const MoveRequest& r) { move_elements(r); }

}  // namespace tilewright::cpu
