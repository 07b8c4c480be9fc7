#include "cpu/ops/pool.hpp"

#include <algorithm>
#include <limits>

#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"

namespace tilewright::cpu {

PoolTables::PoolTables(const PoolWindows& of, PoolOp kind)
    : windows(of), op(kind), common(common_count(of, kind)) {
  constexpr Size most_kept = 512;
  for (std::size_t i = 0; i < pool_axes; ++i) {
    const Size kept = std::min(windows.axes[i].out, most_kept);
    first_spans[i].reserve(static_cast<std::size_t>(kept));
    for (Size p = 0; p < kept; ++p) {
      first_spans[i].push_back(pool_span(windows.axes[i], windows.adaptive, op, p));
    }
  }
  const PoolAxis& a = windows.axes[2];
  const Size room = a.length + 2 * a.pad + a.out * a.stride;
  const Size dilation = std::min(a.dilation, room);
  const Size window = std::min(a.window, (room - 1) / dilation + 1);
  columns = {static_cast<std::size_t>(window), static_cast<std::size_t>(a.stride),
             static_cast<std::size_t>(dilation)};
  reach = static_cast<std::size_t>(windows.adaptive ? a.length / a.out + 2
                                                    : (window - 1) * dilation + 1);
}

std::array<Size, 2> PoolTables::outputs_of(std::size_t axis, Size element) const {
  const PoolAxis& a = windows.axes[axis];
  if (windows.adaptive) {
    return {element * a.out / a.length, ((element + 1) * a.out + a.length - 1) / a.length};
  }
  const Size at = element + a.pad;
  const Size low = at - (a.window - 1) * a.dilation;
  return {low <= 0 ? 0 : (low - 1) / a.stride + 1, std::min(at / a.stride + 1, a.out)};
}

bool PoolTables::has(std::size_t axis, Size output, Size element) const {
  const PoolAxis& a = windows.axes[axis];
  return windows.adaptive || (element + a.pad - output * a.stride) % a.dilation == 0;
}

namespace {

template <class T>
class Pooling {
 public:
  using F = Computed<T>;

  Pooling(const PoolRequest& r)
      : request_(r),
        tables_(r.windows, r.op),
        is_max_(r.op == PoolOp::max),
        divisor_(r.divisor != 0 ? r.divisor : tables_.common),
        input_(data<T>(r.input)),
        output_(data<T>(r.output)),
        places_(r.places ? data<std::int32_t>(r.places) : nullptr),
        planes_(static_cast<std::size_t>(r.planes)),
        columns_(r.windows.axes[2]) {
    const std::size_t out = tables_.out(2);
    if (tables_.reach > pool_room) {
      segment_ = 1;
    } else if (r.windows.adaptive) {
      segment_ = std::max<std::size_t>((pool_room - 2) / tables_.reach, 1);
    } else {
      const auto stride = static_cast<std::size_t>(columns_.stride);
      segment_ = (pool_room - tables_.reach) / stride + 1;
    }
    segment_ = std::min({segment_, out, pool_room});
    segments_ = (out + segment_ - 1) / segment_;
    const PoolAxis& height = r.windows.axes[1];
    takes_rows_ = has_rows && places_ == nullptr && out == 1 &&
                  tables_.span(2, 0).count == columns_.length &&
                  (r.windows.adaptive || height.dilation == 1);
    if (is_max_ || divisor_ != 0) return;
    counted_.reserve(out);
    for (std::size_t i = 0; i < out; ++i) counted_.push_back(static_cast<F>(counted(i)));
  }

  void run() const {
    if constexpr (has_rows) {
      if (takes_pool_lanes(request_, tables_)) return pool_lanes<T>(request_, tables_, divisor_);
    }
    const std::size_t rows = planes_ * tables_.out(0) * tables_.out(1);
    const auto of_window = static_cast<std::size_t>(tables_.span(0, tables_.out(0) / 2).count *
                                                    tables_.span(1, tables_.out(1) / 2).count);
    const std::size_t each = std::min(tables_.columns.stride, tables_.length(2));
    const std::size_t of_row = segment_ * (each * of_window + tables_.columns.window);
    parallel_units(rows * segments_, of_row, [&](std::size_t unit) {
      const std::size_t row = segments_ == 1 ? unit : unit / segments_;
      const std::size_t first = (unit - row * segments_) * segment_;
      pool_row(row, first, std::min(segment_, tables_.out(2) - first));
    });
  }

 private:
  Size counted(std::size_t i) const {
    const Size first = static_cast<Size>(i) * columns_.stride - columns_.pad;
    const Size reach = static_cast<Size>(tables_.reach);
    const bool inside = first >= 0 && reach <= columns_.length - first;
    if (inside && !tables_.windows.adaptive) return static_cast<Size>(tables_.columns.window);
    return std::max<Size>(tables_.span(2, i).counted, 1);
  }

  /// Some outputs of a row, and the rows of the input that their windows have.
  struct Row {
    const T* plane;
    PoolSpan depth, height;
    std::size_t first, count, at;  // outputs; `at` is where the first one lies
  };
  void pool_row(std::size_t row, std::size_t first, std::size_t count) const {
    const std::size_t slice = row / tables_.out(1), y = row - slice * tables_.out(1);
    const std::size_t plane = tables_.out(0) == 1 ? slice : slice / tables_.out(0);
    const std::size_t z = slice - plane * tables_.out(0);
    const std::size_t elements = tables_.length(0) * tables_.length(1) * tables_.length(2);
    const Row of{input_ + plane * elements,   tables_.span(0, z), tables_.span(1, y), first, count,
                 row * tables_.out(2) + first};
    if constexpr (has_rows) {
      if (takes_rows_) return pool_whole_rows(of);
    }
    if (tables_.reach > pool_room) return pool_element(of);
    places_ == nullptr ? pool_values(of) : pool_places(of);
  }

  /// Calls body(row, its place) with each of a window's rows, in their order.
  template <class Body>
  void for_rows(const Row& of, const Body& body) const {
    const PoolAxis& depth = tables_.windows.axes[0];
    const PoolAxis& height = tables_.windows.axes[1];
    for (Size k = 0; k < of.depth.count; ++k) {
      for (Size j = 0; j < of.height.count; ++j) {
        const Size z = of.depth.first + k * depth.dilation;
        const Size y = of.height.first + j * height.dilation;
        const Size place = (z * height.length + y) * columns_.length;
        body(of.plane + place, place);
      }
    }
  }

  /// The columns that the outputs' windows reach, from the first on, and those in the input.
  struct Reach {
    Size first, count, low, high;
  };
  Reach reach_of(const Row& of) const {
    Reach r{};
    if (tables_.windows.adaptive) {
      const PoolSpan last = tables_.span(2, of.first + of.count - 1);
      r.first = tables_.span(2, of.first).first;
      r.count = last.first + last.count - r.first;
    } else {
      r.first = static_cast<Size>(of.first) * columns_.stride - columns_.pad;
      r.count =
          static_cast<Size>(of.count - 1) * columns_.stride + static_cast<Size>(tables_.reach);
    }
    r.low = std::clamp<Size>(-r.first, 0, r.count);
    r.high = std::clamp<Size>(columns_.length - r.first, r.low, r.count);
    return r;
  }

  static constexpr F nothing(bool is_max) {
    return is_max ? -std::numeric_limits<F>::infinity() : F{0};
  }

  void pool_values(const Row& of) const {
    const WindowKernels<F>& kernels = window_kernels<F>();
    const auto join = is_max_ ? kernels.larger_of_rows : kernels.sum_of_rows;
    const Reach reach = reach_of(of);
    const auto low = static_cast<std::size_t>(reach.low);
    const std::size_t width = static_cast<std::size_t>(reach.high) - low;
    alignas(64) F joined[pool_room], read[pool_room], made[pool_room];
    std::fill_n(joined, low, nothing(is_max_));
    std::fill(joined + low + width, joined + reach.count, nothing(is_max_));
    const F* before = nullptr;
    for_rows(of, [&](const T* row, Size) {
      const T* const from = width == 0 ? row : row + (reach.first + reach.low);
      const F* x = read;
      if constexpr (is_computed<T>) {
        x = from;
      } else {
        read_row(from, read, width);
      }
      if (before == nullptr && is_computed<T>) {
        before = x;
      } else if (before == nullptr) {
        std::copy_n(x, width, joined + low);
        before = joined + low;
      } else {
        join(before, x, joined + low, width);
        before = joined + low;
      }
    });
    if (before == nullptr) {
      std::fill_n(joined + low, width, nothing(is_max_));
    } else if (before != joined + low) {
      // One row, which is read where it lies, if windows do not leave it.
      if (width != static_cast<std::size_t>(reach.count)) {
        std::copy_n(before, width, joined + low);
      }
    }
    const bool whole = before != nullptr && width == static_cast<std::size_t>(reach.count);
    const F* const x = whole ? before : joined;
    F* to = made;
    if constexpr (is_computed<T>) to = output_ + of.at;
    if (tables_.windows.adaptive) {
      join_spans(of, x, to);
    } else {
      (is_max_ ? kernels.max_windows : kernels.sum_windows)(x, tables_.columns, to, of.count);
    }
    if (!is_max_) {
      const Size rows = of.depth.counted * of.height.counted;
      const F by =
          divisor_ != 0 ? static_cast<F>(divisor_) : static_cast<F>(std::max<Size>(rows, 1));
      kernels.divide(to, divisor_ != 0 ? nullptr : counted_.data() + of.first, by, of.count);
    }
    if constexpr (!is_computed<T>) write_row(made, output_ + of.at, of.count);
  }

  /// Windows of their own lengths.
  void join_spans(const Row& of, const F* x, F* to) const {
    const Size first = tables_.span(2, of.first).first;
    for (std::size_t i = 0; i < of.count; ++i) {
      const PoolSpan span = tables_.span(2, of.first + i);
      const F* const at = x + (span.first - first);
      F all = at[0];
      for (Size k = 1; k < span.count; ++k) {
        if (is_max_) {
          all = at[k] > all || at[k] != at[k] ? at[k] : all;
        } else {
          all += at[k];
        }
      }
      to[i] = all;
    }
  }

  void pool_places(const Row& of) const {
    const WindowKernels<F>& kernels = window_kernels<F>();
    const Reach reach = reach_of(of);
    const auto low = static_cast<std::size_t>(reach.low);
    const std::size_t width = static_cast<std::size_t>(reach.high) - low;
    alignas(64) F joined[pool_room], read[pool_room], made[pool_room];
    alignas(64) std::int32_t places[pool_room];
    std::fill_n(joined, reach.count, nothing(true));
    std::fill_n(places, reach.count, no_place);
    for_rows(of, [&](const T* row, Size place) {
      const T* const from = width == 0 ? row : row + (reach.first + reach.low);
      const F* x = read;
      if constexpr (is_computed<T>) {
        x = from;
      } else {
        read_row(from, read, width);
      }
      kernels.join_row(x, static_cast<std::int32_t>(place + reach.first + reach.low), joined + low,
                       places + low, width);
    });
    F* to = made;
    if constexpr (is_computed<T>) to = output_ + of.at;
    std::int32_t* const to_places = places_ + of.at;
    if (tables_.windows.adaptive) {
      for (std::size_t i = 0; i < of.count; ++i) {
        const PoolSpan span = tables_.span(2, of.first + i);
        const Size at = span.first - reach.first;
        const RowWindows one{static_cast<std::size_t>(span.count), 1, 1};
        kernels.max_places(joined + at, places + at, one, to + i, to_places + i, 1);
      }
    } else {
      kernels.max_places(joined, places, tables_.columns, to, to_places, of.count);
    }
    for (std::size_t i = 0; i < of.count; ++i) {
      if (to_places[i] == no_place) to_places[i] = -1;
    }
    if constexpr (!is_computed<T>) write_row(made, output_ + of.at, of.count);
  }

  /// One output, whose window has all columns: rows that follow each other are one.
  void pool_whole_rows(const Row& of) const
    requires has_rows
  {
    const Size depth_step = tables_.windows.adaptive ? 1 : tables_.windows.axes[0].dilation;
    const auto count = static_cast<std::size_t>(of.height.count * columns_.length);
    F largest = nothing(true);
    double sum = 0;
    for (Size k = 0; k < of.depth.count && count != 0; ++k) {
      const Size z = of.depth.first + k * depth_step;
      const T* const rows =
          of.plane + (z * tables_.windows.axes[1].length + of.height.first) * columns_.length;
      if (is_max_) {
        const F x = kernels_for<T>().max(rows, count);
        largest = x > largest || x != x ? x : largest;
      } else {
        sum += kernels_for<T>().sum(rows, count);
      }
    }
    const double counted = static_cast<double>(of.depth.counted) *
                           static_cast<double>(of.height.counted) *
                           static_cast<double>(tables_.span(2, 0).counted);
    const double by = divisor_ != 0 ? divisor_ : std::max(counted, 1.0);
    const F result = is_max_ ? largest : static_cast<F>(sum / by);
    write_row(&result, output_ + of.at, 1);
  }

  /// One output, whose window is longer than there is room for.
  void pool_element(const Row& of) const {
    const PoolSpan span = tables_.span(2, of.first);
    const Size step = tables_.windows.adaptive ? 1 : columns_.dilation;
    F largest = nothing(true);
    std::int32_t at = -1;
    double sum = 0;
    for_rows(of, [&](const T* row, Size place) {
      for (Size k = 0; k < span.count; ++k) {
        const Size column = span.first + k * step;
        F x;
        read_row(row + column, &x, 1);
        sum += x;
        const bool is_first = places_ != nullptr && at == -1;
        if (is_first || x > largest || (x != x && largest == largest)) {
          largest = x;
          at = static_cast<std::int32_t>(place + column);
        }
      }
    });
    const double counted = static_cast<double>(of.depth.counted) *
                           static_cast<double>(of.height.counted) *
                           static_cast<double>(span.counted);
    const double by = divisor_ != 0 ? divisor_ : std::max(counted, 1.0);
    const F result = is_max_ ? largest : static_cast<F>(sum / by);
    write_row(&result, output_ + of.at, 1);
    if (places_ != nullptr) places_[of.at] = at;
  }

  /// Whether there are kernels that join whole rows.
  static constexpr bool has_rows = std::is_same_v<T, float> || std::is_same_v<T, Half>;

  const PoolRequest& request_;
  const PoolTables tables_;
  const bool is_max_;
  const double divisor_;
  const T* const input_;
  T* const output_;
  std::int32_t* const places_;
  const std::size_t planes_;
  const PoolAxis columns_;
  std::vector<F> counted_;  // of each window along a row
  std::size_t segment_ = 1, segments_ = 1;
  bool takes_rows_ = false;
};

}  // namespace

void CpuBackend::do_pool(const PoolRequest& r) {
  with_any_float(r.dtype, [&]<class T>(T) { Pooling<T>(r).run(); });
}

}  // namespace tilewright::cpu
