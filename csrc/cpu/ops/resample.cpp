#include "core/ops/resample.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/text.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/error.hpp"

// A row of the output is a sum of rows of the input, and then of columns of the row that they come
// to.
namespace tilewright::cpu {

namespace {

/// What an output of an axis has inside the input: its first element, how many, and the first one's
/// tap.
struct Taps {
  Size first, count, tap;
};

template <class F>
class AxisTable {
 public:
  explicit AxisTable(const ResampleAxis& axis)
      : length_(axis.length),
        taps_(axis.taps),
        spans_(axis.taps == 0 ? nullptr : data<std::int32_t>(axis.spans)),
        weights_(axis.taps == 0 ? nullptr : data<F>(axis.weights)) {}

  bool changes() const { return taps_ != 0; }
  Taps at(std::size_t output) const {
    if (taps_ == 0) return {static_cast<Size>(output), 1, 0};
    const Size first = spans_[2 * output];
    const Size skipped = std::max<Size>(-first, 0);
    const Size past =
        std::min({Size{spans_[2 * output + 1]}, taps_, std::max<Size>(length_ - first, 0)});
    return {first + skipped, std::max<Size>(past - skipped, 0), skipped};
  }
  const F* weights(std::size_t output, const Taps& of) const {
    static constexpr F one = 1;
    if (taps_ == 0) return &one;
    return weights_ + static_cast<Size>(output) * taps_ + of.tap;
  }
  bool copies(std::size_t output) const {
    const Taps of = at(output);
    return of.count == 1 && *weights(output, of) == 1;
  }

 private:
  const Size length_, taps_;
  const std::int32_t* const spans_;
  const F* const weights_;
};

template <class T>
class Resampling {
 public:
  using F = Computed<T>;

  Resampling(const ResampleRequest& r, MemoryPool& memory)
      : rows_(r.rows),
        columns_(r.columns),
        input_(data<T>(r.input)),
        output_(data<T>(r.output)),
        planes_(static_cast<std::size_t>(r.planes)),
        height_(static_cast<std::size_t>(r.rows.length)),
        width_(static_cast<std::size_t>(r.columns.length)),
        out_rows_(static_cast<std::size_t>(r.rows.out)),
        out_columns_(static_cast<std::size_t>(r.columns.out)),
        memory_(memory) {
    if (!columns_.changes()) return;
    if (width_ > std::numeric_limits<std::int32_t>::max()) {
      throw Unsupported(text("resample: rows of ", width_,
                             " elements, more than int32 counts; split them into smaller calls"));
    }
    for (std::size_t q = 0; q < out_columns_; ++q) {
      most_ = std::max(most_, static_cast<std::size_t>(columns_.at(q).count));
      copies_ = copies_ && columns_.copies(q);
    }
    copies_ ? place_columns() : fill_columns();
  }

  void run() const {
    const std::size_t rows = planes_ * out_rows_;
    const std::size_t work = out_columns_ * most_ + width_;
    const std::size_t pieces = std::min(rows, piece_count(rows * work, element_grain));
    const auto of = [&](std::size_t columns) {
      return Scratch::rounded(columns * (sizeof(F) / sizeof(float)));
    };
    OpScratch room(memory_, "resample", 2 * of(width_ + 1) + of(out_columns_),
                   std::max<std::size_t>(pieces, 1));
    parallel_tasks(std::max<std::size_t>(pieces, 1), [&](std::size_t piece) {
      Scratch scratch(room);
      F* const joined = reinterpret_cast<F*>(scratch.take(of(width_ + 1)));
      F* const read = reinterpret_cast<F*>(scratch.take(of(width_ + 1)));
      F* const made = reinterpret_cast<F*>(scratch.take(of(out_columns_)));
      const std::size_t last = pieces == 0 ? rows : rows * (piece + 1) / pieces;
      const std::size_t first = pieces == 0 ? 0 : rows * piece / pieces;
      for (std::size_t row = first; row < last; ++row) {
        make_row(row, row == first, joined, read, made);
      }
    });
  }

 private:
  void place_columns() {
    places_.reserve(out_columns_);
    for (std::size_t q = 0; q < out_columns_; ++q) {
      places_.push_back(static_cast<std::int32_t>(columns_.at(q).first));
    }
  }

  /// Places and weights tap by tap, of which those that an output lacks are behind the row, where
  /// there is a 0.
  void fill_columns() {
    places_.assign(most_ * out_columns_, static_cast<std::int32_t>(width_));
    weights_.assign(most_ * out_columns_, F{0});
    for (std::size_t q = 0; q < out_columns_; ++q) {
      const Taps of = columns_.at(q);
      const F* const own = columns_.weights(q, of);
      for (Size k = 0; k < of.count; ++k) {
        places_[static_cast<std::size_t>(k) * out_columns_ + q] =
            static_cast<std::int32_t>(of.first + k);
        weights_[static_cast<std::size_t>(k) * out_columns_ + q] = own[k];
      }
    }
  }

  /// `first`: of those that this thread makes one after another.
  void make_row(std::size_t row, bool first, F* joined, F* read, F* made) const {
    const std::size_t p = row % out_rows_;
    const T* const plane = input_ + row / out_rows_ * height_ * width_;
    T* const output = output_ + row * out_columns_;
    const Taps of = rows_.at(p);
    if (copies_ && rows_.copies(p)) {
      const bool again =
          !first && p != 0 && rows_.copies(p - 1) && rows_.at(p - 1).first == of.first;
      if (again) {
        std::copy_n(output - out_columns_, out_columns_, output);
        return;
      }
      copy_row(plane + static_cast<std::size_t>(of.first) * width_, output);
      return;
    }
    join_rows(plane, p, of, joined, read);
    F* to = made;
    if constexpr (is_computed<T>) to = output;
    if (!copies_) {
      joined[width_] = 0;
      window_kernels<F>().weigh_places(joined, places_.data(), weights_.data(), most_, to,
                                       out_columns_);
    } else if (columns_.changes()) {
      for (std::size_t q = 0; q < out_columns_; ++q) to[q] = joined[places_[q]];
    } else {
      to = joined;
    }
    if (static_cast<const void*>(to) != static_cast<const void*>(output)) {
      write_row(to, output, out_columns_);
    }
  }

  void copy_row(const T* from, T* to) const {
    if (!columns_.changes()) {
      std::copy_n(from, out_columns_, to);
      return;
    }
    for (std::size_t q = 0; q < out_columns_; ++q) to[q] = from[places_[q]];
  }

  void join_rows(const T* plane, std::size_t p, const Taps& of, F* joined, F* read) const {
    const F* const weights = rows_.weights(p, of);
    if (of.count == 0) std::fill_n(joined, width_, F{0});
    for (Size k = 0; k < of.count; ++k) {
      const T* const from = plane + static_cast<std::size_t>(of.first + k) * width_;
      const F* x = read;
      if constexpr (is_computed<T>) {
        x = from;
      } else {
        read_row(from, read, width_);
      }
      if (of.count == 1 && weights[k] == 1) {
        std::copy_n(x, width_, joined);
      } else {
        window_kernels<F>().weigh_row(x, weights[k], joined, width_, k != 0);
      }
    }
  }

  const AxisTable<F> rows_, columns_;
  const T* const input_;
  T* const output_;
  const std::size_t planes_, height_, width_, out_rows_, out_columns_;
  MemoryPool& memory_;
  bool copies_ = true;    // all columns are copied, each one from somewhere
  std::size_t most_ = 1;  // taps of a column
  std::vector<std::int32_t> places_;
  std::vector<F> weights_;
};

}  // namespace

void CpuBackend::do_resample(const ResampleRequest& r) {
  with_any_float(r.dtype, [&]<class T>(T) { Resampling<T>(r, *memory_).run(); });
}

}  // namespace tilewright::cpu
