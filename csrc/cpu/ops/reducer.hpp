#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/requests.hpp"
#include "cpu/ops/fold.hpp"
#include "cpu/program/run.hpp"

// Reductions of programs. Elements are joined by the loops of programs, half of a block with the
// other half, so that the errors of sums grow with the logarithm of the block.
namespace tilewright::cpu {

/// Sums of columns are joined into one more after so many.
inline constexpr std::size_t rows_of_level = 64;
/// Floats of four lines of a cache.
inline constexpr std::size_t lines_of_floats = 64;

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

/// Which of the kernels of folds joins values: of sums, products, the largest or the smallest.
inline std::size_t fold_kernel(Reduction op) {
  if (op == Reduction::sum || op == Reduction::prod) return op == Reduction::sum ? 0 : 1;
  return op == Reduction::max || op == Reduction::argmax ? 2 : 3;
}

/// The reduction of blocks of values in their class.
class Joiner {
 public:
  explicit Joiner(const FoldRequest& r)
      : loop(loop_of(r.op, class_of(r.front->output_dtype()))),
        kind(class_of(r.front->output_dtype())),
        size(bytes_of(kind)),
        place(fold_kernel(r.op)) {}

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
  bool is_float() const { return kind == ComputeClass::f32; }
  /// n float32 values to one.
  float fold(const float* values, std::size_t n) const {
    float one;
    program_kernels().fold_rows[place](values, 1, n, n, &one);
    return one;
  }
  /// `rows` rows of n values each, one behind the other, each to one value, in `to`. `spare` has
  /// room for one row.
  void fold_each(const std::byte* values, std::size_t rows, std::size_t n, std::byte* spare,
                 std::byte* to) const {
    if (is_float()) {
      program_kernels().fold_rows[place](reinterpret_cast<const float*>(values), rows, n, n,
                                         reinterpret_cast<float*>(to));
      return;
    }
    if (kind != ComputeClass::f64) return fold_integers(values, rows, n, to);
    for (std::size_t i = 0; i < rows; ++i) {
      fold(values + i * n * size, n, 1, spare);
      std::memcpy(to + i * size, spare, size);
    }
  }
  void fold_rows(const float* values, std::size_t rows, std::size_t n, std::size_t stride,
                 float* to) const {
    program_kernels().fold_rows[place](values, rows, n, stride, to);
  }
  /// into[j] as start[j] joined with all rows of float32.
  void fold_columns(const float* start, const float* values, std::size_t rows, std::size_t stride,
                    std::size_t width, float* into) const {
    program_kernels().fold_columns[place](start, values, rows, stride, width, into);
  }
  void fold_units(const float* values, std::size_t units, std::size_t rows, std::size_t width,
                  float* to) const {
    program_kernels().fold_units[place](values, units, rows, width, to);
  }

  const ProgramLoop loop;
  const ComputeClass kind;
  const std::size_t size;
  const std::size_t place;  ///< among the kernels of folds

 private:
  /// fold_each() of integers, whose order does not matter.
  void fold_integers(const std::byte* values, std::size_t rows, std::size_t n,
                     std::byte* to) const {
    with_class(kind, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const T* const x = reinterpret_cast<const T*>(values);
        T* const all = reinterpret_cast<T*>(to);
        using U = std::make_unsigned_t<T>;  // wraps
        switch (place) {
          case 0:
            return fold_by(x, rows, n, all, [](T a, T b) { return T(U(a) + U(b)); });
          case 1:
            return fold_by(x, rows, n, all, [](T a, T b) { return T(U(a) * U(b)); });
          case 2:
            return fold_by(x, rows, n, all, [](T a, T b) { return std::max(a, b); });
          default:
            return fold_by(x, rows, n, all, [](T a, T b) { return std::min(a, b); });
        }
      }
    });
  }
  template <class T, class Join>
  static void fold_by(const T* x, std::size_t rows, std::size_t n, T* to, const Join& join) {
    for (std::size_t i = 0; i < rows; ++i, x += n) {
      T one = x[0];
      for (std::size_t k = 1; k < n; ++k) one = join(one, x[k]);
      to[i] = one;
    }
  }
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

/// The elements of units and chunks, reduced.
class Reducer {
 public:
  Reducer(const FoldRequest& r, const Cut& cut, const Joiner& joiner, ProgramRun& piece)
      : r_(r), cut_(cut), joiner_(joiner), piece_(piece) {
    if (!joiner.is_float()) return;
    plain_ = piece.plain(0);
    if (plain_ == nullptr) return;
    const std::span<const Size> shape = piece.shape(), strides = piece.strides();
    Size step = 1;
    is_dense_ = true;
    for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) {
      is_dense_ = is_dense_ && strides[d] == step;
    }
    constexpr Size long_enough = 32;
    lies_in_rows_ = !is_dense_ && strides[shape.size() - 1] == 1 && shape.size() > 1 &&
                    shape[shape.size() - 1] >= long_enough && strides[shape.size() - 2] >= 0;
    // Rows of columns lie at even steps where one dimension is reduced.
    columns_lie_evenly_ = cut.columns && r.rank - r.kept == 1 && strides[shape.size() - 1] == 1 &&
                          strides[shape.size() - 2] > 0;
    if (columns_lie_evenly_) step_ = static_cast<std::size_t>(strides[shape.size() - 2]);
  }

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
    } else if (columns_lie_evenly_) {
      reduce_columns_in_memory(unit, begin, end, reinterpret_cast<float*>(values));
    } else if (cut_.columns) {
      reduce_columns(unit, begin, end, values);
    } else {
      reduce_row(unit, begin, end, values);
    }
  }
  /// Units of columns that lie one behind the other with few rows: `count` of them from `unit` on;
  /// false where they do not.
  bool reduce_units(std::size_t unit, std::size_t count, std::byte* values) {
    if (!columns_lie_evenly_ || !is_dense_ || r_.finds_place() || cut_.units_of_row() != 1 ||
        cut_.length > rows_of_level / 4) {
      return false;
    }
    joiner_.fold_units(plain_ + unit * cut_.length * cut_.inner, count, cut_.length, cut_.inner,
                       reinterpret_cast<float*>(values));
    return true;
  }
  /// Whole rows: `count` of them from `row` on.
  void reduce_rows(std::size_t row, std::size_t count, std::byte* values, std::uint32_t* places) {
    const std::size_t length = cut_.length, at_once = program_block / length;
    if (length == 1 && r_.finds_place()) {
      std::fill_n(places, count, 0U);
      return;
    }
    if (is_dense_ && !r_.finds_place() && length <= rows_of_level * program_block) {
      return joiner_.fold_rows(plain_ + row * length, count, length, length,
                               reinterpret_cast<float*>(values));
    }
    if (reduce_rows_of_samples(row, count, values)) return;
    if (at_once < 2) {
      for (std::size_t i = 0; i < count; ++i) {
        reduce(row + i, 0, values + i * joiner_.size, places + i);
      }
      return;
    }
    for (std::size_t i = 0; i < count; i += at_once) {
      const std::size_t now = std::min(at_once, count - i);
      const std::byte* const x = piece_.values((row + i) * length, now * length);
      std::byte* const to = values + i * joiner_.size;
      joiner_.fold_each(x, now, length, folded_.data(), to);
      if (!r_.finds_place()) continue;
      with_class(joiner_.kind, [&]<class T>(T) {
        for (std::size_t j = 0; j < now; ++j) {
          const T* const first = reinterpret_cast<const T*>(x) + j * length;
          places[i + j] = static_cast<std::uint32_t>(
              place_of(first, length, reinterpret_cast<const T*>(to)[j]));
        }
      });
    }
  }

 private:
  /// Rows of float32 that are reduced along another dimension, too, as channels of samples: of some
  /// rows one sample after the other. False where they are others.
  bool reduce_rows_of_samples(std::size_t row, std::size_t count, std::byte* values) {
    if (plain_ == nullptr || r_.finds_place() || r_.kept != 1 || r_.rank != 3) return false;
    const std::span<const Size> shape = piece_.shape(), strides = piece_.strides();
    const auto samples = static_cast<std::size_t>(shape[1]), n = static_cast<std::size_t>(shape[2]);
    if (strides[2] != 1 || strides[0] < shape[2] || n < 2 || n > rows_of_level * program_block) {
      return false;
    }
    constexpr std::size_t rows_at_once = 32;
    std::array<float, (rows_of_level + 1) * rows_at_once> parts;
    for (std::size_t i = 0, now = 0; i < count; i += now) {
      now = std::min(rows_at_once, count - i);
      const float* x = plain_ + static_cast<Size>(row + i) * strides[0];
      std::size_t held = 0;
      for (std::size_t sample = 0; sample < samples; ++sample, x += strides[1]) {
        joiner_.fold_rows(x, now, n, static_cast<std::size_t>(strides[0]), &parts[held++ * now]);
        if (held <= rows_of_level && sample + 1 < samples) continue;
        joiner_.fold_columns(parts.data(), &parts[now], held - 1, now, now, parts.data());
        held = 1;
      }
      std::memcpy(values + i * joiner_.size, parts.data(), now * sizeof(float));
    }
    return true;
  }
  /// Where the first of n values is that is `best`, which may be NaN; or n.
  template <class T>
  static std::size_t place_of(const T* x, std::size_t n, T best) {
    const T* const found =
        std::find_if(x, x + n, [&](T one) { return one == best || (is_nan(one) && is_nan(best)); });
    return static_cast<std::size_t>(found - x);
  }
  /// One value of up to rows_of_level blocks from k on, in `to`: of float32 each block comes to
  /// one; of others whole blocks are joined lane by lane, and their lanes then. Gives the elements
  /// that it took.
  std::size_t join_blocks(std::size_t row, std::size_t k, std::size_t end, std::byte* to) {
    if (joiner_.is_float()) {
      const std::size_t n = std::min(end - k, rows_of_level * program_block);
      const std::size_t begin = row * cut_.length + k;
      std::array<float, rows_of_level> parts;
      std::size_t blocks = 0;
      if (is_dense_) {
        parts[blocks++] = joiner_.fold(plain_ + begin, n);
      }
      std::size_t done = is_dense_ ? n : 0;
      while (lies_in_rows_ && done < n && blocks < parts.size()) {
        const std::size_t room = (parts.size() - blocks) * piece_.row_length();
        const ProgramRun::PlainRows some =
            piece_.plain_rows(begin + done, std::min(n - done, room));
        joiner_.fold_rows(some.first, some.rows, some.columns, static_cast<std::size_t>(some.step),
                          parts.data() + blocks);
        blocks += some.rows;
        done += some.rows * some.columns;
      }
      for (std::size_t now = 0; done < n && blocks < parts.size(); done += now) {
        now = piece_.fitting(begin + done, n - done);
        const std::byte* const x = piece_.values(begin + done, now);
        parts[blocks++] = joiner_.fold(reinterpret_cast<const float*>(x), now);
      }
      const float one = joiner_.fold(parts.data(), blocks);
      std::memcpy(to, &one, sizeof one);
      return done;
    }
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
  /// Columns of float32 that are read where they lie. Narrow rows that lie side by side are taken
  /// several at a time as one.
  void reduce_columns_in_memory(std::size_t unit, std::size_t begin, std::size_t end,
                                float* result) {
    const std::size_t row = unit / cut_.units_of_row(), width = cut_.count(unit);
    const std::size_t first = unit % cut_.units_of_row() * cut_.width;
    const float* x = piece_.plain((row * cut_.length + begin) * cut_.inner + first);
    std::size_t rows = end - begin;
    // Errors of sums grow with the rows that are joined one after the other, and wide ones are
    // better walked than many.
    const bool in_levels = r_.op == Reduction::sum || r_.op == Reduction::prod;
    const auto most = [&](std::size_t wide) {
      if (!in_levels) return rows_of_level * rows_of_level;
      return wide > 4 * lines_of_floats ? rows_of_level / 4 : 4 * rows_of_level;
    };
    const std::size_t together =
        step_ == width ? std::max<std::size_t>(std::min(program_block / width, rows / 4), 1) : 1;
    float* const sums = reinterpret_cast<float*>(sums_.data());
    for (bool any = false; rows > 0; any = true) {
      const std::size_t side_by_side = rows >= 2 * together ? together : 1;
      const std::size_t wide = side_by_side * width, stride = side_by_side * step_;
      const std::size_t taken = std::min(rows / side_by_side, most(wide));
      float* const to = any || side_by_side > 1 ? sums : result;
      joiner_.fold_columns(x, x + stride, taken - 1, stride, wide, to);
      if (any) {
        joiner_.fold_columns(result, sums, side_by_side, width, width, result);
      } else if (side_by_side > 1) {
        joiner_.fold_columns(sums, sums + width, side_by_side - 1, width, width, result);
      }
      rows -= taken * side_by_side;
      x += taken * side_by_side * step_;
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
               if (rows > 1 && joiner_.is_float()) {
                 float* const folded = reinterpret_cast<float*>(folded_.data());
                 joiner_.fold_columns(reinterpret_cast<const float*>(values),
                                      reinterpret_cast<const float*>(values + bytes), rows - 1,
                                      width, width, folded);
                 values = folded_.data();
               } else if (rows > 1) {
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
      for (std::size_t from = k; from < k + n; from += program_block) {
        const std::size_t now = std::min(program_block, k + n - from);
        const T* x = reinterpret_cast<const T*>(piece_.values(unit * cut_.length + from, now));
        const std::size_t found = place_of(x, now, best);
        if (found == now) continue;
        *places = static_cast<std::uint32_t>(from + found);
        break;
      }
    }
  }

  const FoldRequest& r_;
  const Cut& cut_;
  const Joiner& joiner_;
  ProgramRun& piece_;
  const float* plain_ = nullptr;  // the first element, where values are float32 of memory
  bool is_dense_ = false;         // whether all of them lie there in their order
  bool lies_in_rows_ = false;     // or those of rows of the last dimension
  bool columns_lie_evenly_ = false;
  std::size_t step_ = 0;  // from one row of columns to the next
  alignas(64) std::array<std::byte, register_bytes> folded_;
  alignas(64) std::array<std::byte, register_bytes> sums_;
};

}  // namespace tilewright::cpu
