#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/requests.hpp"
#include "cpu/few.hpp"
#include "cpu/ops/scan_quads.hpp"
#include "cpu/program/run.hpp"

namespace tilewright::cpu {

/// Columns that are scanned side by side, and those that fill a block by themselves.
inline constexpr Size least_columns = 2, wide_columns = 64;

template <Reduction op, class T>
T joined(T x, T y) {
  if constexpr (op == Reduction::sum || op == Reduction::prod) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;  // wraps
      const U a = static_cast<U>(x), b = static_cast<U>(y);
      return static_cast<T>(op == Reduction::sum ? a + b : a * b);
    } else {
      return op == Reduction::sum ? x + y : x * y;
    }
  } else if constexpr (op == Reduction::max) {
    return x > y || x != x ? x : y;
  } else {
    return x < y || x != x ? x : y;
  }
}

template <class Body>
void with_op(Reduction op, const Body& body) {
  switch (op) {
    case Reduction::sum:
      return body(std::integral_constant<Reduction, Reduction::sum>{});
    case Reduction::prod:
      return body(std::integral_constant<Reduction, Reduction::prod>{});
    case Reduction::max:
      return body(std::integral_constant<Reduction, Reduction::max>{});
    default:
      return body(std::integral_constant<Reduction, Reduction::min>{});
  }
}

/// One thread's part of a scan of values of type T.
template <Reduction op, class T>
class Scanner {
 public:
  Scanner(const FoldRequest& r, ProgramRun& piece, T identity)
      : r_(r),
        piece_(piece),
        identity_(identity),
        length_(static_cast<std::size_t>(r.length)),
        output_(static_cast<std::uint32_t>(r.front->inputs.size())),
        dtype_(r.behind->output_dtype()) {}

  T total(std::size_t row, std::size_t begin, std::size_t n) {
    T all = identity_;
    for (std::size_t k = 0; k < n; k += program_block) {
      const std::size_t now = std::min(program_block, n - k);
      const T* x = values(row * length_ + begin + k, now);
      const std::size_t quarter = now / 4;
      std::array<T, 4> parts{x[0], x[quarter], x[2 * quarter], x[3 * quarter]};
      for (std::size_t i = 1; i < quarter; ++i) {
        for (std::size_t q = 0; q < 4; ++q) parts[q] = joined<op>(parts[q], x[q * quarter + i]);
      }
      T part = quarter > 0
                   ? joined<op>(joined<op>(parts[0], parts[1]), joined<op>(parts[2], parts[3]))
                   : x[0];
      for (std::size_t i = std::max<std::size_t>(4 * quarter, 1); i < now; ++i) {
        part = joined<op>(part, x[i]);
      }
      all = k == 0 && begin == 0 ? part : joined<op>(all, part);
    }
    return all;
  }
  void scan_row(std::size_t row, std::size_t begin, std::size_t n, T carry) {
    const bool exclusive = r_.exclusive;
    for (std::size_t k = 0; k < n; k += program_block) {
      const std::size_t now = std::min(program_block, n - k), at = row * length_ + begin + k;
      const T* x = values(at, now);
      // What is before the first element changes nothing, not even the sign of 0.
      const bool first = begin + k == 0;
      out_[0] = identity_;
      T* const to = out_.data() + (exclusive ? 1 : 0);
      scan_quarters(x, now, to);
      const std::size_t quarter = now / 4;
      T before = carry;
      for (std::size_t begin = 0, q = 0; q < 4; ++q) {
        const std::size_t end = q == 3 ? now : begin + quarter;
        if (begin == end) continue;
        if (!first || begin > 0) {
          for (std::size_t i = begin; i < end; ++i) to[i] = joined<op>(before, to[i]);
        }
        before = to[end - 1];
        begin = end;
      }
      if (exclusive && !first) out_[0] = carry;
      carry = to[now - 1];
      store(at, now);
    }
  }
  /// Short rows, as many as a block holds.
  void scan_rows(std::size_t row, std::size_t count) {
    const std::size_t at = row * length_;
    const T* x = values(at, count * length_);
    T* to = out_.data();
    bool is_done = false;
    if constexpr (std::is_same_v<T, float>) {
      constexpr std::size_t most = 16;
      is_done = !r_.exclusive && with_few<most>(length_, [&](auto length) {
        const T* from = x;
        for (std::size_t i = 0; i < count; ++i, from += length(), to += length()) {
          T part = to[0] = from[0];
          for (std::size_t k = 1; k < length(); ++k) to[k] = part = joined<op>(part, from[k]);
        }
      });
    }
    for (std::size_t i = 0; i < count && !is_done; ++i, x += length_, to += length_) {
      T part = x[0];
      to[0] = r_.exclusive ? identity_ : part;
      for (std::size_t k = 1; k < length_; ++k) {
        if (r_.exclusive) to[k] = part;
        part = joined<op>(part, x[k]);
        if (!r_.exclusive) to[k] = part;
      }
    }
    store(at, count * length_);
  }
  /// Columns first to first + width of `inner` side by side.
  void scan_columns(std::size_t outer, std::size_t inner, std::size_t first, std::size_t width) {
    for (std::size_t k = 0; k < length_; ++k) {
      const std::size_t at = (outer * length_ + k) * inner + first;
      const T* x = values(at, width);
      for (std::size_t j = 0; j < width; ++j) {
        const T next = k == 0 ? x[j] : joined<op>(sums_[j], x[j]);
        out_[j] = !r_.exclusive ? next : k == 0 ? identity_ : sums_[j];
        sums_[j] = next;
      }
      store(at, width);
    }
  }
  /// All of so few columns that a block has room for them: of several outer dimensions.
  void scan_short_columns(std::size_t outer, std::size_t count, std::size_t inner) {
    const std::size_t at = outer * length_ * inner;
    const T* x = values(at, count * length_ * inner);
    T* to = out_.data();
    for (std::size_t i = 0; i < count; ++i, x += length_ * inner, to += length_ * inner) {
      scan_few(x, length_, inner, to);
    }
    store(at, count * length_ * inner);
  }
  /// Those of one outer dimension, in blocks of rows. Totals of so many blocks are joined, and
  /// then those, so that the errors of sums grow with neither.
  struct Totals {
    static constexpr std::size_t most_blocks = 64;
    std::size_t blocks = 0;
    std::array<T, wide_columns> of_blocks, all, before;
  };
  void scan_narrow_columns(std::size_t outer, std::size_t inner) {
    Totals totals;
    for_narrow_blocks(inner, [&](std::size_t k, std::size_t rows) {
      scan_narrow_block(outer, inner, k, rows, before_block(totals, inner));
      add_block(totals, sums_.data(), inner);
    });
  }
  /// Calls body(first row, rows) for each block.
  template <class Body>
  void for_narrow_blocks(std::size_t inner, const Body& body) const {
    const std::size_t rows = program_block / inner;
    for (std::size_t k = 0; k < length_; k += rows) body(k, std::min(rows, length_ - k));
  }
  /// The block's own totals are in sums_ then.
  void scan_narrow_block(std::size_t outer, std::size_t inner, std::size_t k, std::size_t rows,
                         const T* before) {
    const std::size_t at = (outer * length_ + k) * inner;
    scan_few(values(at, rows * inner), rows, inner, out_.data(), before);
    store(at, rows * inner);
  }
  /// What is before the next block; null before the first one.
  static const T* before_block(Totals& totals, std::size_t inner) {
    const std::size_t joined_blocks = totals.blocks % Totals::most_blocks;
    if (totals.blocks < Totals::most_blocks) {
      return joined_blocks == 0 ? nullptr : totals.of_blocks.data();
    }
    if (joined_blocks == 0) return totals.all.data();
    for (std::size_t j = 0; j < inner; ++j) {
      totals.before[j] = joined<op>(totals.all[j], totals.of_blocks[j]);
    }
    return totals.before.data();
  }
  static void add_block(Totals& totals, const T* sums, std::size_t inner) {
    const std::size_t at = totals.blocks++ % Totals::most_blocks;
    for (std::size_t j = 0; j < inner; ++j) {
      totals.of_blocks[j] = at == 0 ? sums[j] : joined<op>(totals.of_blocks[j], sums[j]);
    }
    if (at + 1 < Totals::most_blocks) return;
    const bool is_first = totals.blocks == Totals::most_blocks;
    for (std::size_t j = 0; j < inner; ++j) {
      totals.all[j] =
          is_first ? totals.of_blocks[j] : joined<op>(totals.all[j], totals.of_blocks[j]);
    }
  }
  void total_narrow_block(std::size_t outer, std::size_t inner, std::size_t k, std::size_t rows,
                          T* totals) {
    scan_few(values((outer * length_ + k) * inner, rows * inner), rows, inner, out_.data());
    std::copy_n(sums_.data(), inner, totals);
  }

 private:
  /// Rows of so few columns, whose totals are then in sums_: those of very few stay in registers.
  /// What is before them, unless it is null, is joined with all results.
  void scan_few(const T* x, std::size_t rows, std::size_t inner, T* to, const T* before = nullptr) {
    for (std::size_t j = 0; j < inner; ++j) {
      sums_[j] = x[j];
      to[j] = !r_.exclusive ? whole(before, j, x[j]) : before != nullptr ? before[j] : identity_;
    }
    std::size_t done = 1;
    if constexpr (std::is_same_v<T, float>) {
      done = scan_quads<Joined>(x, rows, inner, to, sums_.data(), before, r_.exclusive);
    } else {
      constexpr std::size_t most = 7;
      const bool is_done = with_few<most>(inner, [&](auto count) {
        std::array<T, count()> sums;
        std::copy_n(sums_.data(), count(), sums.begin());
        scan_rows_of(count, x, 1, rows, to, sums.data(), before);
        std::copy_n(sums.begin(), count(), sums_.begin());
      });
      if (is_done) return;
    }
    scan_rows_of(inner, x, done, rows, to, sums_.data(), before);
  }
  template <class Count>
  void scan_rows_of(Count inner, const T* x, std::size_t done, std::size_t rows, T* to, T* sums,
                    const T* before) const {
    for (std::size_t i = done; i < rows; ++i) {
      for (std::size_t j = 0; j < inner; ++j) {
        const std::size_t at = i * inner + j;
        const T next = joined<op>(sums[j], x[at]);
        to[at] = whole(before, j, r_.exclusive ? sums[j] : next);
        sums[j] = next;
      }
    }
  }
  static T whole(const T* before, std::size_t j, T one) {
    return before != nullptr ? joined<op>(before[j], one) : one;
  }
  struct Joined {
    template <class Vector>
    static Vector of(Vector a, Vector b) {
      if constexpr (op == Reduction::sum) return a + b;
      if constexpr (op == Reduction::prod) return a * b;
      if constexpr (op == Reduction::max) return (a > b) | (a != a) ? a : b;
      return (a < b) | (a != a) ? a : b;
    }
  };
  /// Each quarter of a block by itself, side by side: none waits for the sum before it.
  static void scan_quarters(const T* x, std::size_t n, T* to) {
    const std::size_t quarter = n / 4;
    std::array<T, 4> parts{};
    for (std::size_t i = 0; i < quarter; ++i) {
      for (std::size_t q = 0; q < 4; ++q) {
        const T next = x[q * quarter + i];
        to[q * quarter + i] = parts[q] = i == 0 ? next : joined<op>(parts[q], next);
      }
    }
    for (std::size_t i = 4 * quarter; i < n; ++i) {
      to[i] = parts[3] = i == 0 ? x[i] : joined<op>(parts[3], x[i]);
    }
  }
  const T* values(std::size_t at, std::size_t n) {
    return reinterpret_cast<const T*>(piece_.values(at, n));
  }
  void store(std::size_t at, std::size_t n) {
    if (dtype_ == DType::boolean) {
      for (std::size_t i = 0; i < n; ++i) bytes_[i] = out_[i] != 0 ? 1 : 0;
      piece_.store(output_, dtype_, reinterpret_cast<const std::byte*>(bytes_.data()), at, n);
    } else {
      piece_.store(output_, dtype_, reinterpret_cast<const std::byte*>(out_.data()), at, n);
    }
  }

  const FoldRequest& r_;
  ProgramRun& piece_;
  const T identity_;
  const std::size_t length_;
  const std::uint32_t output_;
  const DType dtype_;
  alignas(64) std::array<T, program_block + 1> out_;
  alignas(64) std::array<T, program_block> sums_;
  std::array<std::uint8_t, program_block> bytes_;
};

}  // namespace tilewright::cpu
