#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/requests.hpp"
#include "core/text.hpp"
#include "cpu/elements.hpp"
#include "cpu/few.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/words.hpp"
#include "tilewright/error.hpp"

// Lines of elements by arrays of indices.
namespace tilewright::cpu {

/// Indices of a line that become offsets at a time.
inline constexpr Size index_block = 512;

[[noreturn]] inline void outside(const MoveRequest& r, const MoveRequest::Index& index,
                                 const std::string& value) {
  throw IndexOutOfRange(text(r.name, ": index ", value, " is out of range for axis ", index.axis,
                             " of ", index.size, " elements"));
}

/// Adds the offsets that `count` indices make; the place of one that is outside, or -1.
template <class T>
Size add_offsets(const std::byte* memory, Size first, Size step, Size count,
                 const MoveRequest::Index& index, Size* offsets) {
  const T* const at = reinterpret_cast<const T*>(memory) + first;
  const Size size = index.size, last = size - 1;
  const auto place = [&](T given) {
    const auto value = static_cast<Size>(given);
    if constexpr (std::is_signed_v<T>) return value + (value >> 63 & size);
    return value;
  };
  // Below 0 where one is outside: without comparisons, which vectors of 64 bits may lack.
  Size joined = 0;
  // What is far outside wraps, and is below 0 itself.
  using Bits = std::uint64_t;
  const auto sign_of = [&](Size value) {
    return value | static_cast<Size>(static_cast<Bits>(last) - static_cast<Bits>(value));
  };
  const auto add = [&](auto index_step, auto stride) {
    for (Size j = 0; j < count; ++j) {
      const Size value = place(at[j * index_step]);
      joined |= sign_of(value);
      const Bits step = static_cast<Bits>(value) * static_cast<Bits>(Size{stride});
      offsets[j] = static_cast<Size>(static_cast<Bits>(offsets[j]) + step);
    }
  };
  using One = std::integral_constant<Size, 1>;
  if (step == 1 && index.stride == 1) {
    add(One(), One());
  } else {
    add(step, index.stride);
  }
  if (joined >= 0) return -1;
  for (Size j = 0;; ++j) {
    if (sign_of(place(at[j * step])) < 0) return j;
  }
}

/// y[j] = x[offsets[j]], four at a time, since vectors of the baseline would be put together from
/// single elements.
template <class T, class I>
void gather_line(const T* x, const I* offsets, T* y, Size n) {
  Size j = 0;
  for (; j + 4 <= n; j += 4) {
    const T a = x[offsets[j]], b = x[offsets[j + 1]], c = x[offsets[j + 2]], d = x[offsets[j + 3]];
    y[j] = a;
    y[j + 1] = b;
    y[j + 2] = c;
    y[j + 3] = d;
  }
  for (; j < n; ++j) y[j] = x[offsets[j]];
}

/// Whether all indices are within an axis, none of them from its end.
template <class I>
bool all_within(const I* indices, Size count, Size size) {
  const auto last = static_cast<I>(size - 1);
  I joined = 0;
  for (Size j = 0; j < count; ++j) {
    // Below 0 where one of both is; what the difference overflows for is below 0 itself.
    using Bits = std::make_unsigned_t<I>;
    joined |= indices[j] | static_cast<I>(static_cast<Bits>(last) - static_cast<Bits>(indices[j]));
  }
  return joined >= 0;
}

/// y[i][j] = x[i][indices[i][j]] of lines that lie one behind the other in all but x.
template <class T, class I>
void take_lines(const T* x, Size x_row, const I* indices, T* y, Size y_row, Size length,
                Size lines) {
  constexpr std::size_t most = 8;
  const auto few = static_cast<std::size_t>(length);
  const bool is_done =
      with_few<most>(few, [&]<std::size_t n>(std::integral_constant<std::size_t, n>) {
        for (Size i = 0; i < lines; ++i, x += x_row, y += y_row, indices += n) {
          for (std::size_t j = 0; j < n; ++j) y[j] = x[indices[j]];
        }
      });
  if (is_done) return;
  for (Size i = 0; i < lines; ++i, x += x_row, y += y_row, indices += length) {
    gather_line(x, indices, y, length);
  }
}

/// A row of some vectors, without a call.
inline void copy_row(const void* from, void* to, std::size_t bytes) {
  constexpr std::size_t vector = 32, most = 512;
  if (bytes < vector || bytes > most) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto* const x = static_cast<const std::byte*>(from);
  auto* const y = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i + vector <= bytes; i += vector) std::memcpy(y + i, x + i, vector);
  // The end once more: rows do not overlap.
  std::memcpy(y + bytes - vector, x + bytes - vector, vector);
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
  /// Those from the element `first` places behind the first one.
  template <class I>
  const I* at(Size first) const {
    return reinterpret_cast<const I*>(memory_) + index_.operand.offset + first;
  }
  /// From the element `first` places behind the first one.
  void add(Size first, Size step, Size count, Size* offsets) const {
    const Size from = index_.operand.offset + first;
    const Size bad = add_(memory_, from, step, count, index_, offsets);
    if (bad >= 0) outside(r_, index_, show_(memory_, from + bad * step));
  }
  /// Throws where one of them is outside.
  void check() const {
    std::size_t moving = 0, line = 0;
    for (std::size_t d = 0; d < r_.rank; ++d) {
      if (strides_[d] != 0) ++moving, line = d;
    }
    if (moving != 1) return check_all();
    try {
      check_line(line);
    } catch (const IndexOutOfRange&) {
      // Of several the first one is named.
      check_all();
      throw;
    }
  }

 private:
  void check_line(std::size_t line) const {
    parallel_for(static_cast<std::size_t>(r_.shape()[line]), element_grain,
                 [&](std::size_t begin, std::size_t end) {
                   std::array<Size, index_block> offsets{};
                   for (auto j = static_cast<Size>(begin); j < static_cast<Size>(end);
                        j += index_block) {
                     add(j * strides_[line], strides_[line],
                         std::min(index_block, static_cast<Size>(end) - j), offsets.data());
                   }
                 });
  }
  void check_all() const {
    std::array<Size, index_block> offsets{};
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
      for (Size j = 0; j < r_.shape()[line]; j += index_block) {
        add(first + j * strides_[line], strides_[line], std::min(index_block, r_.shape()[line] - j),
            offsets.data());
      }
      more = false;
      for (std::size_t i = dims.size(); i-- > 0 && !more;) {
        more = ++place[i] < r_.shape()[dims[i]];
        if (!more) place[i] = 0;
      }
    }
  }

  const MoveRequest& r_;
  const MoveRequest::Index& index_;
  const std::span<const Size> strides_;
  const std::byte* const memory_;
  Size (*add_)(const std::byte*, Size, Size, Size, const MoveRequest::Index&, Size*);
  std::string (*show_)(const std::byte*, Size);
};

}  // namespace tilewright::cpu
