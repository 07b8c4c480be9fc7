#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/requests.hpp"
#include "cpu/fold.hpp"
#include "cpu/program_run.hpp"

// Reductions of programs. Elements are joined by the loops of programs, half of a block with the
// other half, so that the errors of sums grow with the logarithm of the block.
namespace tilewright::cpu {

/// Sums of columns are joined into one more after so many.
inline constexpr std::size_t rows_of_level = 64;

template <class T>
bool is_nan(T x) {
  return x != x;
}
/// Of argmax, or of argmin: whether x comes before y wherever they are.
template <bool largest, class T>
bool better(T x, T y) {
  if (is_nan(y)) return false;
  return is_nan(x) || (largest ? x > y : x < y);
}

/// The reduction of blocks of values in their class.
class Joiner {
 public:
  explicit Joiner(const FoldRequest& r)
      : loop(loop_of(r.op, class_of(r.front->output_dtype()))),
        kind(class_of(r.front->output_dtype())),
        size(bytes_of(kind)) {}

  /// `rows` rows of `width` values each to one row, in `to`.
  void fold(const std::byte* from, std::size_t rows, std::size_t width, std::byte* to) const {
    const std::size_t row = width * size;
    if (rows == 1) {
      if (to != from) std::memcpy(to, from, row);
      return;
    }
    while (rows > 1) {
      const std::size_t half = rows / 2, left = rows - half;
      loop(from, from + left * row, nullptr, to, half * width);
      if (left != half && to != from) std::memcpy(to + half * row, from + half * row, row);
      from = to;
      rows = left;
    }
  }
  void join(std::byte* into, const std::byte* with, std::size_t n) const {
    loop(into, with, nullptr, into, n);
  }

  const ProgramLoop loop;
  const ComputeClass kind;
  const std::size_t size;
};

/// How the work is cut: units of neighbouring results, and pieces of what is reduced to each.
struct Cut {
  bool columns;
  std::size_t outer, length, inner;  ///< rows: inner is 1
  std::size_t width, units;          ///< results of a unit, but of the last of `inner`
  std::size_t chunk, chunks;

  std::size_t units_of_row() const { return (inner + width - 1) / width; }
  std::size_t first(std::size_t unit) const {
    return unit / units_of_row() * inner + unit % units_of_row() * width;
  }
  std::size_t count(std::size_t unit) const {
    return std::min(width, inner - unit % units_of_row() * width);
  }
};

/// The elements of one unit and chunk, reduced.
class Reducer {
 public:
  Reducer(const FoldRequest& r, const Cut& cut, const Joiner& joiner, ProgramRun& piece)
      : r_(r), cut_(cut), joiner_(joiner), piece_(piece) {}

  /// Values, and places where they are asked for.
  void reduce(std::size_t unit, std::size_t chunk, std::byte* values, std::uint32_t* places) {
    const std::size_t begin = chunk * cut_.chunk;
    const std::size_t end = std::min(cut_.length, begin + cut_.chunk);
    if (r_.finds_place()) {
      with_class(joiner_.kind, [&]<class T>(T) {
        if (r_.op == Reduction::argmax) {
          find<true>(unit, begin, end, reinterpret_cast<T*>(values), places);
        } else {
          find<false>(unit, begin, end, reinterpret_cast<T*>(values), places);
        }
      });
    } else if (cut_.columns) {
      reduce_columns(unit, begin, end, values);
    } else {
      reduce_row(unit, begin, end, values);
    }
  }

 private:
  /// One value of up to rows_of_level blocks from k on, in `to`: whole blocks are joined lane by
  /// lane, and their lanes then. Gives the elements that it took.
  std::size_t join_blocks(std::size_t row, std::size_t k, std::size_t end, std::byte* to) {
    std::size_t whole = std::min((end - k) / program_block, rows_of_level);
    if (whole == 0) {
      joiner_.fold(piece_.values(row * cut_.length + k, end - k), end - k, 1, to);
      return end - k;
    }
    for (std::size_t i = 0; i < whole; ++i) {
      const std::byte* const values =
          piece_.values(row * cut_.length + k + i * program_block, program_block);
      if (i == 0) {
        std::memcpy(to, values, program_block * joiner_.size);
      } else {
        joiner_.join(to, values, program_block);
      }
    }
    joiner_.fold(to, program_block, 1, to);
    return whole * program_block;
  }
  void reduce_row(std::size_t row, std::size_t begin, std::size_t end, std::byte* result) {
    std::size_t sums = 0;
    for (std::size_t k = begin; k < end;) {
      k += join_blocks(row, k, end, folded_.data());
      std::memcpy(sums_.data() + sums++ * joiner_.size, folded_.data(), joiner_.size);
      if (sums == program_block) {
        joiner_.fold(sums_.data(), sums, 1, sums_.data());
        sums = 1;
      }
    }
    joiner_.fold(sums_.data(), sums, 1, sums_.data());
    std::memcpy(result, sums_.data(), joiner_.size);
  }

  /// Calls body(values, k, rows, width) for all of a unit's elements.
  template <class Body>
  void for_rows(std::size_t unit, std::size_t begin, std::size_t end, const Body& body) {
    const std::size_t row = unit / cut_.units_of_row(), width = cut_.count(unit);
    const std::size_t first = unit % cut_.units_of_row() * cut_.width;
    // Narrow rows several at a time.
    const std::size_t rows =
        width == cut_.inner ? std::max<std::size_t>(program_block / width, 1) : 1;
    for (std::size_t k = begin; k < end; k += rows) {
      const std::size_t now = std::min(rows, end - k);
      const std::size_t at = (row * cut_.length + k) * cut_.inner + first;
      body(piece_.values(at, now * width), k, now, width);
    }
  }
  void reduce_columns(std::size_t unit, std::size_t begin, std::size_t end, std::byte* result) {
    const std::size_t width = cut_.count(unit), bytes = width * joiner_.size;
    std::size_t joined = 0;
    bool any = false;
    const auto finish = [&] {
      if (any) {
        joiner_.join(result, sums_.data(), width);
      } else {
        std::memcpy(result, sums_.data(), bytes);
      }
      any = true;
      joined = 0;
    };
    for_rows(unit, begin, end,
             [&](const std::byte* values, std::size_t, std::size_t rows, std::size_t) {
               if (rows > 1) {
                 joiner_.fold(values, rows, width, folded_.data());
                 values = folded_.data();
               }
               if (joined == 0) {
                 std::memcpy(sums_.data(), values, bytes);
               } else {
                 joiner_.join(sums_.data(), values, width);
               }
               if (++joined == rows_of_level) finish();
             });
    if (joined > 0) finish();
  }

  template <bool largest, class T>
  void find(std::size_t unit, std::size_t begin, std::size_t end, T* values,
            std::uint32_t* places) {
    if (cut_.columns) {
      for_rows(unit, begin, end,
               [&](const std::byte* from, std::size_t k, std::size_t rows, std::size_t width) {
                 const T* x = reinterpret_cast<const T*>(from);
                 for (std::size_t i = 0; i < rows; ++i, x += width) {
                   for (std::size_t j = 0; j < width; ++j) {
                     if (k + i != begin && !better<largest>(x[j], values[j])) continue;
                     values[j] = x[j];
                     places[j] = static_cast<std::uint32_t>(k + i);
                   }
                 }
               });
      return;
    }
    for (std::size_t k = begin, n = 0; k < end; k += n) {
      n = join_blocks(unit, k, end, folded_.data());
      T best;
      std::memcpy(&best, folded_.data(), sizeof best);
      if (k != begin && !better<largest>(best, *values)) continue;
      *values = best;
      // Only where there is a better one its place is looked for.
      const auto is_best = [&](T one) { return one == best || (is_nan(one) && is_nan(best)); };
      for (std::size_t from = k; from < k + n; from += program_block) {
        const std::size_t now = std::min(program_block, k + n - from);
        const T* x = reinterpret_cast<const T*>(piece_.values(unit * cut_.length + from, now));
        const T* const found = std::find_if(x, x + now, is_best);
        if (found == x + now) continue;
        *places = static_cast<std::uint32_t>(from + static_cast<std::size_t>(found - x));
        break;
      }
    }
  }

  const FoldRequest& r_;
  const Cut& cut_;
  const Joiner& joiner_;
  ProgramRun& piece_;
  alignas(64) std::array<std::byte, register_bytes> folded_;
  alignas(64) std::array<std::byte, register_bytes> sums_;
};

}  // namespace tilewright::cpu
