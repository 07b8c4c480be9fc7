#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/class_lines.hpp"
#include "core/text.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/memory.hpp"
#include "tilewright/error.hpp"

// Lines of scores of classes, for cross_entropy() and its gradient.
namespace tilewright::cpu {

/// The classes of lines, which are looked at once before anything is written.
class ClassTargets {
 public:
  static constexpr Size none = -1;

  ClassTargets(std::string_view op, const ClassLines& r)
      : op_(op),
        at_(r.lines() == 0 ? nullptr : data<std::byte>(r.targets)),
        is_wide_(r.target_dtype == DType::int64),
        lines_(static_cast<std::size_t>(r.lines())),
        classes_(r.classes),
        ignored_(r.ignored),
        axis_(r.axis) {}

  /// The class, or none where the line is ignored; of targets that are all right.
  Size of(std::size_t line) const {
    const Size found = given(line);
    return found == ignored_ ? none : found;
  }
  /// Throws where one is no class; else what the lines that are not ignored weigh. The weights, 1
  /// where null, are those of the classes.
  template <class F>
  double total(const F* weights) const {
    if (lines_ == 0) return 0;
    const Found all = join_chunks(
        lines_,
        [&](std::size_t begin, std::size_t length) { return found(weights, begin, length); },
        [](const Found& a, const Found& b) {
          return Found{a.wrong != no_line ? a.wrong : b.wrong, a.weight + b.weight};
        });
    if (all.wrong == no_line) return all.weight;
    throw IndexOutOfRange(text(op_, ": index ", given(all.wrong), " is out of range for axis ",
                               axis_, " of ", classes_, " elements"));
  }

 private:
  static constexpr std::size_t no_line = ~std::size_t{0};
  struct Found {
    std::size_t wrong = no_line;
    double weight = 0;
  };

  Size given(std::size_t line) const {
    return is_wide_ ? reinterpret_cast<const std::int64_t*>(at_)[line]
                    : reinterpret_cast<const std::int32_t*>(at_)[line];
  }
  template <class F>
  Found found(const F* weights, std::size_t begin, std::size_t length) const {
    // Weights are added in runs, so that the error does not grow with all of them.
    constexpr std::size_t run = 128;
    Found all;
    std::size_t kept = 0;
    for (std::size_t first = begin; first < begin + length; first += run) {
      double weight = 0;
      for (std::size_t i = first; i < std::min(first + run, begin + length); ++i) {
        const Size target = given(i);
        if (target == ignored_) continue;
        if (target < 0 || target >= classes_) return {i, 0};
        ++kept;
        if (weights != nullptr) weight += static_cast<double>(weights[target]);
      }
      all.weight += weight;
    }
    if (weights == nullptr) all.weight = static_cast<double>(kept);
    return all;
  }

  std::string_view op_;
  const std::byte* at_;
  bool is_wide_;
  std::size_t lines_;
  Size classes_, ignored_;
  std::uint32_t axis_;
};

/// What lines of T are read as: bfloat16 becomes float32 first.
template <class T>
using Line = std::conditional_t<std::is_same_v<T, Bfloat>, float, T>;

template <class S>
double largest_of(const S* x, std::size_t n) {
  if constexpr (std::is_same_v<S, double>) {
    return kernels().float64_rows.max(x, n);
  } else {
    return join_chunks(
        n, [&](std::size_t at, std::size_t count) { return kernels_for<S>().max(x + at, count); },
        [](float a, float b) { return a != a || a > b ? a : b; });
  }
}

template <class S>
double sum_of_powers(const S* x, std::size_t n, Computed<S> shift) {
  if constexpr (std::is_same_v<S, double>) {
    return kernels().float64_rows.sum_of_exp(x, n, shift);
  } else {
    return join_chunks(
        n,
        [&](std::size_t at, std::size_t count) {
          return kernels_for<S>().sum_of_exp(x + at, count, shift);
        },
        [](double a, double b) { return a + b; });
  }
}

template <class S>
Computed<S> number_at(const S* x) {
  Computed<S> number;
  read_row(x, &number, 1);
  return number;
}

/// The sum of weights * (largest - x), where weights are 1 if null.
template <class S>
double sum_off(const S* x, std::size_t n, Computed<S> largest, const Computed<S>* weights) {
  using F = Computed<S>;
  if constexpr (!std::is_same_v<S, double>) {
    if (weights == nullptr) return -kernels_for<S>().deviations(x, n, largest).sum;
  }
  constexpr std::size_t block = 256, apart = 4;
  F read[block];
  std::array<double, apart> sums{};
  for (std::size_t i = 0; i < n; i += block) {
    const std::size_t count = std::min(block, n - i);
    const F* from = read;
    if constexpr (is_computed<S>) {
      from = x + i;
    } else {
      read_row(x + i, read, count);
    }
    for (std::size_t j = 0; j < count; ++j) {
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i + j]);
      sums[j % apart] += weight * (static_cast<double>(largest) - static_cast<double>(from[j]));
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// A request with its elements, and how it is cut into units that threads take: some lines that
/// follow each other of classes that do, else a tile of lines side by side.
template <class T>
class ClassRows {
 public:
  using F = Computed<T>;
  using S = Line<T>;

  static constexpr std::size_t widest = 512;

  ClassRows(std::string_view op, const ClassLines& r)
      : targets(op, r),
        x(r.lines() == 0 ? nullptr : data<T>(r.scores)),
        classes(static_cast<std::size_t>(r.classes)),
        inner(static_cast<std::size_t>(r.inner)),
        lines(static_cast<std::size_t>(r.lines())),
        smoothing(r.smoothing),
        share(r.smoothing / static_cast<double>(r.classes)),
        mass(static_cast<double>(r.classes)) {
    if (r.weights) {
      weights_.resize(classes);
      read_row(data<T>(r.weights), weights_.data(), classes);
      weights = weights_.data();
      mass = 0;
      for (const F weight : weights_) mass += static_cast<double>(weight);
    }
    if (inner == 1) {
      constexpr std::size_t at_once = 32, short_line = 1024;
      width = classes <= short_line ? at_once : 1;
      tiles = 1;
      units = (lines + width - 1) / width;
    } else if (lines != 0) {
      // Lines of a tile are read three times: they should stay in a cache.
      constexpr std::size_t cached_elements = 1 << 16;
      const std::size_t fitting = cached_elements / classes / 16 * 16;
      width = std::min(inner, std::clamp<std::size_t>(fitting, 16, widest));
      tiles = (inner + width - 1) / width;
      units = lines / inner * tiles;
    }
  }

  bool by_columns() const { return inner != 1; }
  /// Floats of scratch for a unit: lines that kernels do not take as they lie.
  std::size_t room() const {
    constexpr std::size_t words = sizeof(F) / sizeof(float);
    const bool copies = std::is_same_v<T, Bfloat> || (std::is_same_v<T, double> && by_columns());
    return copies ? width * classes * words : 0;
  }

  /// Lines [first, first + count), whose first score is x[at].
  struct Unit {
    std::size_t first, count, at;
  };
  Unit unit(std::size_t i) const {
    if (!by_columns()) return {i * width, std::min(width, lines - i * width), i * width * classes};
    const std::size_t sample = i / tiles, column = i % tiles * width;
    return {sample * inner + column, std::min(width, inner - column),
            sample * inner * classes + column};
  }

  F weight_of(Size target) const { return weights == nullptr ? F{1} : weights[target]; }

  const ClassTargets targets;
  const T* const x;
  const F* weights = nullptr;  ///< of the classes; null: 1
  const std::size_t classes, inner, lines;
  const double smoothing, share;  ///< share: of each class
  double mass;                    ///< what all classes weigh
  std::size_t width = 1, tiles = 1, units = 0;

 private:
  std::vector<F> weights_;
};

/// Lines of a unit as kernels take them: each row of classes, or where by columns the lines side by
/// side, `step` from class to class.
template <class S>
struct UnitLines {
  const S* x;
  std::size_t step;
  bool by_columns;
};

/// A unit's lines where they lie, or of bfloat16 and columns of float64 in `scratch`.
template <class T>
UnitLines<Line<T>> lines_of(const ClassRows<T>& rows, const typename ClassRows<T>::Unit& unit,
                            float* scratch) {
  const std::size_t n = rows.classes;
  if constexpr (std::is_same_v<T, Bfloat>) {
    if (!rows.by_columns()) {
      read_row(rows.x + unit.at, scratch, unit.count * n);
      return {scratch, 1, false};
    }
    for (std::size_t c = 0; c < n; ++c) {
      read_row(rows.x + unit.at + c * rows.inner, scratch + c * unit.count, unit.count);
    }
    return {scratch, unit.count, true};
  } else if constexpr (std::is_same_v<T, double>) {
    if (!rows.by_columns()) return {rows.x + unit.at, 1, false};
    double* const turned = reinterpret_cast<double*>(scratch);
    for (std::size_t c = 0; c < n; ++c) {
      const double* const from = rows.x + unit.at + c * rows.inner;
      for (std::size_t j = 0; j < unit.count; ++j) turned[j * n + c] = from[j];
    }
    return {turned, 1, false};
  } else {
    return {rows.x + unit.at, rows.by_columns() ? rows.inner : 1, rows.by_columns()};
  }
}

/// The largest score of each line of a unit, and the sum of the powers of what is off it.
template <class S>
void find_sums(const UnitLines<S>& lines, std::size_t count, std::size_t n, Computed<S>* largest,
               double* sums) {
  if constexpr (!std::is_same_v<S, double>) {
    const ElementKernels<S>& k = kernels_for<S>();
    if (lines.by_columns) {
      const std::size_t padded = padded_width(count);
      std::fill_n(largest, padded, -std::numeric_limits<float>::infinity());
      std::fill_n(sums, padded, 0.0);
      k.max_rows(lines.x, n, lines.step, count, largest);
      k.add_exp_rows(lines.x, n, lines.step, count, largest, sums);
      return;
    }
    if (n <= 4 * kernels().simd_width && count > 1) {
      float added[ClassRows<float>::widest];
      k.short_row_sums(lines.x, count, n, largest, added);
      std::copy_n(added, count, sums);
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    largest[i] = static_cast<Computed<S>>(largest_of(lines.x + i * n, n));
    sums[i] = sum_of_powers(lines.x + i * n, n, largest[i]);
  }
}

/// The score that a line of a unit has of a class.
template <class S>
Computed<S> score_of(const UnitLines<S>& lines, std::size_t line, std::size_t n, Size target) {
  const auto at = static_cast<std::size_t>(target);
  return number_at(lines.by_columns ? lines.x + at * lines.step + line : lines.x + line * n + at);
}

}  // namespace tilewright::cpu
