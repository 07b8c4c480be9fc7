#include "core/ops/cross_entropy_backward.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cpu/backend.hpp"
#include "cpu/ops/class_lines.hpp"
#include "cpu/scratch.hpp"

namespace tilewright::cpu {

namespace {

template <class T>
class Gradient {
 public:
  using F = Computed<T>;

  explicit Gradient(const EntropyGradientRequest& r)
      : rows_("cross_entropy_backward", r),
        grad_(r.grad ? data<T>(r.grad) : nullptr),
        has_one_(r.is_joined),
        result_(data<T>(r.grad_scores)),
        how_(rows_.classes < worth_streaming
                 ? Store::cached
                 : store_for(static_cast<std::size_t>(r.elements()) * sizeof(T), false)) {
    const double total = rows_.targets.total(rows_.weights);
    factor_ = r.is_mean ? r.factor / total : r.factor;
  }

  void run(MemoryPool& pool) const {
    OpScratch room(pool, "cross_entropy_backward", rows_.room(), rows_.units);
    for_rows(rows_.units, rows_.width * rows_.classes, [&](std::size_t i) {
      const auto unit = rows_.unit(i);
      Scratch scratch(room);
      differentiate(unit, scratch.take(rows_.room()));
    });
  }

 private:
  using Unit = typename ClassRows<T>::Unit;
  using S = Line<T>;
  static constexpr std::size_t worth_streaming = 256, kept_line = 8192;
  static constexpr std::size_t widest = ClassRows<T>::widest;

  /// What the gradient of each line of a unit is made of: powers of what scores are off `largest`,
  /// times `factor`, less `less` times the weights, and less `own` where the target is.
  struct Parts {
    F largest[widest], factor[widest], less[widest], own[widest], at_target[widest];
    double sums[widest];
    Size targets[widest];
  };

  void differentiate(const Unit& unit, float* scratch) const {
    const std::size_t n = rows_.classes;
    const UnitLines<S> lines = lines_of(rows_, unit, scratch);
    if (write_short(lines, unit)) return;
    Parts p;
    if (keeps_powers(lines, unit)) return write_kept(lines, unit, scratch, p);
    find_sums(lines, unit.count, n, p.largest, p.sums);
    for (std::size_t j = 0; j < unit.count; ++j) find_parts(lines, unit, j, p);
    if (lines.by_columns) {
      write_columns(lines, unit, scratch, p);
    } else if constexpr (std::is_same_v<T, S>) {
      if (rows_.by_columns()) {
        write_turned(lines, unit, scratch, p);
      } else {
        for (std::size_t j = 0; j < unit.count; ++j) {
          write_line(lines.x + j * n, result_ + unit.at + j * n, p, j, how_);
        }
      }
    } else {
      for (std::size_t j = 0; j < unit.count; ++j) {
        write_line(lines.x + j * n, scratch + j * n, p, j, Store::cached);
      }
      write_row(scratch, result_ + unit.at, unit.count * n);
    }
  }

  /// Whether the powers of a line stay in the nearest caches between their sum and the gradient.
  bool keeps_powers(const UnitLines<S>& lines, const Unit& unit) const {
    if constexpr (std::is_same_v<S, double>) return false;
    const bool is_short = rows_.classes <= 4 * kernels().simd_width && unit.count > 1;
    return !lines.by_columns && !is_short && rows_.classes <= kept_line && rows_.smoothing == 0;
  }
  void write_kept(const UnitLines<S>& lines, const Unit& unit, float* scratch, Parts& p) const {
    if constexpr (!std::is_same_v<S, double>) {
      const std::size_t n = rows_.classes;
      const ElementKernels<S>& k = kernels_for<S>();
      alignas(64) float powers[kept_line];
      for (std::size_t j = 0; j < unit.count; ++j) {
        const S* const x = lines.x + j * n;
        S* to = nullptr;
        if constexpr (std::is_same_v<T, S>) {
          to = result_ + unit.at + j * n;
        } else {
          to = scratch + j * n;
        }
        if (rows_.targets.of(unit.first + j) == ClassTargets::none) {
          std::fill_n(to, n, S{});
          continue;
        }
        p.largest[j] = k.max(x, n);
        p.sums[j] = k.exp_and_sum(x, n, p.largest[j], powers);
        find_parts(lines, unit, j, p);
        k.scale_from(powers, n, p.factor[j], to, std::is_same_v<T, S> ? how_ : Store::cached);
        write_row(&p.at_target[j], to + p.targets[j], 1);
      }
      if constexpr (!std::is_same_v<T, S>) {
        write_row(scratch, result_ + unit.at, unit.count * n);
      }
    }
  }

  void find_parts(const UnitLines<S>& lines, const Unit& unit, std::size_t j, Parts& p) const {
    const std::size_t line = unit.first + j;
    const Size target = p.targets[j] = rows_.targets.of(line);
    p.factor[j] = p.less[j] = p.own[j] = p.at_target[j] = 0;
    if (target == ClassTargets::none) return;
    double by = factor_;
    if (grad_ != nullptr) by *= static_cast<double>(number_at(grad_ + (has_one_ ? 0 : line)));
    const auto weight = static_cast<double>(rows_.weight_of(target));
    const double sharp = weight * (1 - rows_.smoothing);
    const double whole = sharp + (rows_.smoothing == 0 ? 0 : rows_.mass * rows_.share);
    p.factor[j] = static_cast<F>(by * whole / p.sums[j]);
    p.less[j] = rows_.smoothing == 0 ? F{0} : static_cast<F>(by * rows_.share);
    p.own[j] = static_cast<F>(by * sharp);
    const F power = std::exp(score_of(lines, j, rows_.classes, target) - p.largest[j]);
    p.at_target[j] = power * p.factor[j] - p.own[j] - p.less[j] * rows_.weight_of(target);
  }

  /// Short rows of float32 whose gradients differ by no factor: their softmax at once.
  bool write_short(const UnitLines<S>& lines, const Unit& unit) const {
    if constexpr (std::is_same_v<T, float>) {
      const std::size_t n = rows_.classes;
      const bool is_short = n <= 4 * kernels().simd_width && unit.count > 1;
      const bool is_even = rows_.weights == nullptr && (grad_ == nullptr || has_one_);
      if (lines.by_columns || !is_short || !is_even || rows_.smoothing != 0) return false;
      const double by = factor_ * (grad_ == nullptr ? 1.0 : static_cast<double>(number_at(grad_)));
      const auto factor = static_cast<float>(by);
      float* const to = result_ + unit.at;
      const ElementKernels<float>& k = kernels_for<float>();
      k.softmax_short_rows(lines.x, unit.count, n, false, to);
      k.scale_from(to, unit.count * n, factor, to, Store::cached);
      for (std::size_t j = 0; j < unit.count; ++j) {
        const Size target = rows_.targets.of(unit.first + j);
        if (target == ClassTargets::none) {
          std::fill_n(to + j * n, n, 0.0f);
        } else {
          to[j * n + static_cast<std::size_t>(target)] -= factor;
        }
      }
      return true;
    }
    return false;
  }

  /// A row of what kernels take; the result may be the row.
  void write_line(const S* x, S* to, const Parts& p, std::size_t j, Store how) const {
    const std::size_t n = rows_.classes;
    if (p.targets[j] == ClassTargets::none) {
      std::fill_n(to, n, S{});
      return;
    }
    if constexpr (std::is_same_v<S, double>) {
      kernels().float64_rows.scaled_exp_less(x, n, p.largest[j], p.factor[j], p.less[j],
                                             rows_.weights, to);
    } else {
      const ElementKernels<S>& k = kernels_for<S>();
      for_chunks(n, [&](std::size_t at, std::size_t count) {
        if (p.less[j] == 0) {
          k.scaled_exp(x + at, count, p.largest[j], p.factor[j], to + at, how);
        } else {
          k.scaled_exp_less(x + at, count, p.largest[j], p.factor[j], p.less[j],
                            rows_.weights == nullptr ? nullptr : rows_.weights + at, to + at, how);
        }
      });
    }
    write_row(&p.at_target[j], to + p.targets[j], 1);
  }

  void write_columns(const UnitLines<S>& lines, const Unit& unit, float* scratch,
                     const Parts& p) const {
    if constexpr (!std::is_same_v<S, double>) {
      const std::size_t n = rows_.classes;
      S* to = nullptr;
      if constexpr (std::is_same_v<T, S>) {
        to = result_ + unit.at;
      } else {
        to = scratch;
      }
      const ElementKernels<S>& k = kernels_for<S>();
      if (rows_.smoothing == 0) {
        k.scaled_exp_rows(lines.x, n, lines.step, unit.count, p.largest, p.factor, to);
      } else {
        k.scaled_exp_less_rows(lines.x, n, lines.step, unit.count, p.largest, p.factor, p.less,
                               rows_.weights, to);
      }
      for (std::size_t j = 0; j < unit.count; ++j) {
        if (p.targets[j] != ClassTargets::none) {
          const auto target = static_cast<std::size_t>(p.targets[j]);
          write_row(&p.at_target[j], to + target * lines.step + j, 1);
        } else if (!std::isfinite(p.sums[j] + rows_.mass)) {
          for (std::size_t c = 0; c < n; ++c) to[c * lines.step + j] = S{};
        }
      }
      if constexpr (!std::is_same_v<T, S>) {
        for (std::size_t c = 0; c < n; ++c) {
          write_row(scratch + c * unit.count, result_ + unit.at + c * rows_.inner, unit.count);
        }
      }
    }
  }

  /// Of float64, whose columns are rows in `scratch`.
  void write_turned(const UnitLines<S>& lines, const Unit& unit, float* scratch,
                    const Parts& p) const {
    if constexpr (std::is_same_v<S, double>) {
      const std::size_t n = rows_.classes;
      auto* const turned = reinterpret_cast<double*>(scratch);
      for (std::size_t j = 0; j < unit.count; ++j) {
        write_line(lines.x + j * n, turned + j * n, p, j, Store::cached);
      }
      for (std::size_t c = 0; c < n; ++c) {
        double* const to = result_ + unit.at + c * rows_.inner;
        for (std::size_t j = 0; j < unit.count; ++j) to[j] = turned[j * n + c];
      }
    }
  }

  const ClassRows<T> rows_;
  const T* const grad_;
  const bool has_one_;
  T* const result_;
  const Store how_;
  double factor_;
};

}  // namespace

void CpuBackend::do_cross_entropy_backward(const EntropyGradientRequest& r) {
  with_any_float(r.dtype, [&]<class T>(T) { Gradient<T>(r).run(*memory_); });
}

}  // namespace tilewright::cpu
