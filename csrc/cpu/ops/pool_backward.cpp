#include "core/ops/pool_backward.hpp"

#include <algorithm>

#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/ops/pool.hpp"

// Each part of the input gathers what the windows that have it give, so nothing is added up by
// several threads, and sums are in one order.
namespace tilewright::cpu {

namespace {

/// Elements of a plane whose places are looked for at a time: where there are planes enough for
/// all threads, and they are summed where they lie, as many as a cache holds.
constexpr std::size_t places_room = 1 << 13, places_room_of_many = 1 << 18, many_planes = 64;

template <class T>
class MaxGradient {
 public:
  using F = Computed<T>;

  explicit MaxGradient(const PoolBackwardRequest& r)
      : tables_(r.windows, r.op),
        grad_output_(data<T>(r.grad_output)),
        grad_input_(data<T>(r.grad_input)),
        places_(data<std::int32_t>(r.places)),
        planes_(static_cast<std::size_t>(r.planes)),
        elements_(static_cast<std::size_t>(r.windows.elements())) {}

  void run() const {
    const bool is_large = is_computed<T> && planes_ >= many_planes;
    const std::size_t room = is_large ? places_room_of_many : places_room;
    const std::size_t parts = (elements_ + room - 1) / room;
    parallel_units(planes_ * parts, std::min(elements_, room), [&](std::size_t unit) {
      const std::size_t first = unit % parts * room, count = std::min(room, elements_ - first);
      T* const to = grad_input_ + unit / parts * elements_ + first;
      if constexpr (is_computed<T>) {
        gather(unit / parts, first, count, to);
      } else {
        alignas(64) F sums[places_room];
        gather(unit / parts, first, count, sums);
        write_row(sums, to, count);
      }
    });
  }

 private:
  /// Windows along an axis that have one of some elements.
  struct Range {
    std::size_t first, past;
  };
  Range range(std::size_t axis, std::size_t low, std::size_t high) const {
    return {static_cast<std::size_t>(tables_.outputs_of(axis, static_cast<Size>(low))[0]),
            static_cast<std::size_t>(tables_.outputs_of(axis, static_cast<Size>(high))[1])};
  }

  void gather(std::size_t plane, std::size_t first, std::size_t count, F* sums) const {
    std::fill_n(sums, count, F{0});
    const std::size_t width = tables_.length(2), height = tables_.length(1);
    const std::size_t low = first / width, high = (first + count - 1) / width;
    const bool one_slice = low / height == high / height, one_row = low == high;
    const Range z = range(0, low / height, high / height);
    const Range y = one_slice ? range(1, low % height, high % height) : Range{0, tables_.out(1)};
    const Range x =
        one_row ? range(2, first % width, (first + count - 1) % width) : Range{0, tables_.out(2)};
    for (std::size_t p = z.first; p < z.past; ++p) {
      for (std::size_t q = y.first; q < y.past; ++q) {
        const std::size_t row =
            ((plane * tables_.out(0) + p) * tables_.out(1) + q) * tables_.out(2);
        add_row(row + x.first, row + x.past, first, count, sums);
      }
    }
  }

  void add_row(std::size_t begin, std::size_t end, std::size_t first, std::size_t count,
               F* sums) const {
    constexpr std::size_t some = 256;
    F read[some];
    for (std::size_t i = begin; i < end; i += some) {
      const std::size_t now = std::min(some, end - i);
      const F* grad = read;
      if constexpr (is_computed<T>) {
        grad = grad_output_ + i;
      } else {
        read_row(grad_output_ + i, read, now);
      }
      for (std::size_t k = 0; k < now; ++k) {
        // A place in front of the part wraps around to one behind it.
        const std::size_t at = static_cast<std::size_t>(places_[i + k]) - first;
        if (at < count) sums[at] += grad[k];
      }
    }
  }

  const PoolTables tables_;
  const T* const grad_output_;
  T* const grad_input_;
  const std::int32_t* const places_;
  const std::size_t planes_, elements_;
};

template <class T>
class MeanGradient {
 public:
  using F = Computed<T>;

  explicit MeanGradient(const PoolBackwardRequest& r)
      : tables_(r.windows, r.op),
        divisor_(r.divisor != 0 ? r.divisor : tables_.common),
        grad_output_(data<T>(r.grad_output)),
        grad_input_(data<T>(r.grad_input)),
        planes_(static_cast<std::size_t>(r.planes)),
        columns_(r.windows.axes[2]) {}

  void run() const {
    const std::size_t width = tables_.length(2);
    const std::size_t segments = (width + segment - 1) / segment;
    const std::size_t rows = planes_ * tables_.length(0) * tables_.length(1);
    const auto of_row = [&](std::size_t axis) {
      const auto [first, past] = tables_.outputs_of(axis, tables_.windows.axes[axis].length / 2);
      return static_cast<std::size_t>(std::max<Size>(past - first, 1));
    };
    parallel_units(rows * segments, std::min(width, segment) * of_row(0) * of_row(1),
                   [&](std::size_t unit) {
                     const std::size_t first = unit % segments * segment;
                     gather(unit / segments, first, std::min(segment, width - first));
                   });
  }

 private:
  static constexpr std::size_t segment = pool_room / 2;

  /// Some elements of a row.
  void gather(std::size_t row, std::size_t first, std::size_t count) const {
    alignas(64) F sums[pool_room], read[pool_room], made[segment];
    std::fill_n(made, count, F{0});
    const Size begin = tables_.outputs_of(2, static_cast<Size>(first))[0];
    const Size end = tables_.outputs_of(2, static_cast<Size>(first + count) - 1)[1];
    // As many windows at a time as there is room for.
    for (Size at = begin; at < end; at += static_cast<Size>(segment)) {
      const auto now = static_cast<std::size_t>(std::min<Size>(end - at, segment));
      join_rows(row, static_cast<std::size_t>(at), now, sums, read);
      spread(static_cast<Size>(first), static_cast<Size>(count), at, now, sums, read, made);
    }
    write_row(made, grad_input_ + row * tables_.length(2) + first, count);
  }

  /// What each of some windows along a row gives to each of its columns in this row.
  void join_rows(std::size_t row, std::size_t first, std::size_t count, F* sums, F* read) const {
    const WindowKernels<F>& kernels = window_kernels<F>();
    const auto y = static_cast<Size>(row % tables_.length(1));
    const auto z = static_cast<Size>(row / tables_.length(1) % tables_.length(0));
    const std::size_t plane = row / tables_.length(1) / tables_.length(0);
    const auto [depth, depth_past] = tables_.outputs_of(0, z);
    const auto [height, height_past] = tables_.outputs_of(1, y);
    std::fill_n(sums, count, F{0});
    for (Size p = depth; p < depth_past; ++p) {
      if (!tables_.has(0, p, z)) continue;
      const PoolSpan of_depth = tables_.span(0, static_cast<std::size_t>(p));
      for (Size q = height; q < height_past; ++q) {
        if (!tables_.has(1, q, y)) continue;
        const auto counted =
            static_cast<F>(of_depth.counted * tables_.span(1, static_cast<std::size_t>(q)).counted);
        const T* const from =
            grad_output_ +
            ((plane * tables_.out(0) + static_cast<std::size_t>(p)) * tables_.out(1) +
             static_cast<std::size_t>(q)) *
                tables_.out(2) +
            first;
        if (divisor_ != 0) {
          if constexpr (is_computed<T>) {
            kernels.sum_of_rows(sums, from, sums, count);
          } else {
            read_row(from, read, count);
            kernels.sum_of_rows(sums, read, sums, count);
          }
          continue;
        }
        read_row(from, read, count);
        kernels.divide(read, nullptr, counted, count);
        kernels.sum_of_rows(sums, read, sums, count);
      }
    }
    if (divisor_ != 0) return kernels.divide(sums, nullptr, static_cast<F>(divisor_), count);
    for (std::size_t i = 0; i < count; ++i) {
      read[i] = static_cast<F>(std::max<Size>(tables_.span(2, first + i).counted, 1));
    }
    kernels.divide(sums, read, F{1}, count);
  }

  /// Adds what the windows from `window` on give to elements from `first` on.
  void spread(Size first, Size count, Size window, std::size_t windows, const F* sums, F* wide,
              F* made) const {
    const auto reach = static_cast<Size>(tables_.reach);
    const Size from = window * columns_.stride - columns_.pad;
    const Size span = (static_cast<Size>(windows) - 1) * columns_.stride + reach;
    if (!tables_.windows.adaptive && span <= static_cast<Size>(pool_room)) {
      std::fill_n(wide, span, F{0});
      window_kernels<F>().spread_windows(sums, tables_.columns, wide, windows);
      const Size low = std::max(first, from), high = std::min(first + count, from + span);
      for (Size i = low; i < high; ++i) made[i - first] += wide[i - from];
      return;
    }
    for (std::size_t i = 0; i < windows; ++i) {
      const PoolSpan own = tables_.span(2, static_cast<std::size_t>(window) + i);
      const Size step = tables_.windows.adaptive ? 1 : columns_.dilation;
      const Size skipped = own.first < first ? (first - own.first - 1) / step + 1 : 0;
      for (Size k = skipped; k < own.count; ++k) {
        const Size at = own.first + k * step - first;
        if (at >= count) break;
        made[at] += sums[i];
      }
    }
  }

  const PoolTables tables_;
  const double divisor_;
  const T* const grad_output_;
  T* const grad_input_;
  const std::size_t planes_;
  const PoolAxis columns_;
};

}  // namespace

void CpuBackend::do_pool_backward(const PoolBackwardRequest& r) {
  with_any_float(r.dtype, [&]<class T>(T) {
    r.op == PoolOp::max ? MaxGradient<T>(r).run() : MeanGradient<T>(r).run();
  });
}

}  // namespace tilewright::cpu
