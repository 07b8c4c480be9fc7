#include <algorithm>
#include <string_view>
#include <vector>

#include "core/convolution.hpp"
#include "core/requests.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

/// Turned rows of so many floats stay in the first-level cache.
constexpr Size near_floats = Size{1} << 13;
/// The most floats of one row that is turned, and the columns of outputs that go together.
constexpr Size most_floats = Size{1} << 15, most_columns = 128;
/// Columns of outputs that are walked along a row at least.
constexpr Size least_along = 16;
/// Rows of a plane are not joined into one where they are so long, and so many turned stay near.
constexpr Size least_unjoined = 32, unjoined_rows = 8;
/// What a vector that is turned takes, one that is copied, one of sums that is added to, and a
/// call, in products of a vector and a weight.
constexpr double turn_cost = 8, copy_cost = 2, sum_cost = 3, call_cost = 60;

/// The rows that a row of outputs sees, of some channels, turned: each column of them is a run, so
/// what an output sees is one run as well, or one for each column of taps where these lie apart.
/// For each filter the gradients of outputs then weigh runs, whose sums are the filter's, turned.
template <class T>
class FilterWindows {
 public:
  explicit FilterWindows(const Conv2dRequest& r)
      : r_(r),
        rows_(axes_of(r)[0]),
        columns_(axes_of(r)[1]),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups) {
    const bool is_flat = rows_.filter == 1 && columns_.filter == 1 && rows_.stride == 1 &&
                         columns_.stride == 1 && rows_.pad == 0 && columns_.pad == 0;
    const bool is_unjoined = columns_.output >= least_unjoined &&
                             channels_ * columns_.output * unjoined_rows <= near_floats;
    if (is_flat && !is_unjoined) {
      // Rows that follow each other are one.
      columns_.input = columns_.output = r.out_height * r.out_width;
      rows_.input = rows_.output = 1;
    }
    const Size pieces = std::max<Size>(ceil_div(columns_.output, most_columns), 1);
    piece_ = std::max<Size>(ceil_div(columns_.output, pieces), 1);
    width_ = (piece_ - 1) * columns_.stride + (columns_.filter - 1) * columns_.dilation + 1;
    const Size parts = ceil_div(channels_ * rows_.filter * width_, near_floats);
    part_channels_ = ceil_div(channels_, std::clamp<Size>(parts, 1, channels_));
    channel_parts_ = ceil_div(channels_, part_channels_);
    run_ = part_channels_ * rows_.filter;
    const bool is_one = columns_.dilation == 1 || columns_.filter == 1;
    runs_ = is_one ? 1 : columns_.filter;
    length_ = ceil_div(is_one ? columns_.filter * run_ : run_, lanes()) * lanes();
    together_ = std::clamp<Size>(near_floats / row_floats(), 1, std::max<Size>(all_rows(), 1));
    const Size wanted = ceil_div(static_cast<Size>(thread_count()), r.groups * channel_parts_);
    part_filters_ = ceil_div(ceil_div(filters_, wanted), product_rows()) * product_rows();
    part_filters_ = std::min(part_filters_, filters_);
    filter_parts_ = ceil_div(filters_, part_filters_);
  }

  bool is_possible() const { return r_.batch > 0 && row_floats() <= most_floats; }
  double bytes() const { return static_cast<double>(task_floats() * sizeof(float)); }

  /// In products of a vector and a weight; the same whatever the threads.
  double cost() const {
    const auto vectors = [](Size floats) { return static_cast<double>(ceil_div(floats, lanes())); };
    const auto outputs = static_cast<double>(columns_.output);
    const double of_row =
        outputs * static_cast<double>(runs_) * product_cost(filters_, length_) +
        static_cast<double>(ceil_div(columns_.output, piece_)) *
            (vectors(run_) * static_cast<double>(width_) * turn_cost +
             static_cast<double>(run_) * vectors(width_) * copy_cost +
             static_cast<double>(runs_) / static_cast<double>(together_) *
                 (static_cast<double>(filters_) * vectors(length_) * sum_cost + call_cost));
    const double of_filter =
        call_cost + vectors(run_) * static_cast<double>(columns_.filter) * turn_cost;
    return static_cast<double>(r_.groups * channel_parts_) *
           (static_cast<double>(all_rows()) * of_row + static_cast<double>(filters_) * of_filter);
  }

  void run(MemoryPool& pool) const {
    const Size tasks = r_.groups * filter_parts_ * channel_parts_;
    OpScratch all(pool, op, task_floats(), size(tasks));
    parallel_tasks(size(tasks), [&](std::size_t index) {
      const Size task = static_cast<Size>(index);
      const Size filter = task % filter_parts_ * part_filters_;
      const Size channel = task / filter_parts_ % channel_parts_ * part_channels_;
      run_part({task / filter_parts_ / channel_parts_, filter,
                std::min(part_filters_, filters_ - filter), channel,
                std::min(part_channels_, channels_ - channel)},
               all);
    });
  }

 private:
  struct Part {
    Size group, filter, filters, channel, channels;
  };
  struct Memory {
    float *copied, *turned, *gradient, *sums, *ones, *filter;
  };

  /// Of outputs, of all images.
  Size all_rows() const { return r_.batch * rows_.output; }
  Size row_floats() const { return width_ * run_; }
  Size out_plane() const { return r_.out_height * r_.out_width; }
  /// Whether long rows of one image are walked one behind the other, else all of them column by
  /// column: gradients come from far away, and few rows are read ahead at a time.
  bool is_along_rows() const { return rows_.output > 1 && columns_.output >= least_along; }
  /// Whether rows are turned from where they lie.
  bool is_plain() const {
    return rows_.filter == 1 && rows_.pad == 0 && columns_.pad == 0 && width_ <= columns_.input;
  }

  std::size_t copied_size() const { return is_plain() ? 0 : size(row_floats()); }
  /// Products of whole vectors read behind the last run.
  std::size_t turned_size() const { return size(together_ * row_floats() + length_); }
  std::size_t gradient_size() const {
    return sizeof(T) == sizeof(float) ? 0 : size(together_ * part_filters_ * piece_);
  }
  std::size_t sums_size() const { return size(part_filters_ * runs_ * length_); }
  std::size_t filter_size() const { return size(run_ * columns_.filter); }
  std::size_t task_floats() const {
    return Scratch::rounded(copied_size()) + Scratch::rounded(turned_size()) +
           Scratch::rounded(gradient_size()) + Scratch::rounded(sums_size()) +
           Scratch::rounded(size(part_filters_)) + Scratch::rounded(filter_size());
  }

  void run_part(const Part& part, OpScratch& all) const {
    Scratch scratch(all);
    Memory memory{};
    memory.copied = scratch.take(copied_size());
    memory.turned = scratch.take(turned_size());
    memory.gradient = scratch.take(gradient_size());
    memory.sums = scratch.take(sums_size());
    memory.ones = scratch.take(size(part_filters_));
    memory.filter = scratch.take(filter_size());
    std::fill_n(memory.sums, sums_size(), 0.0f);
    std::fill_n(memory.ones, part_filters_, 1.0f);
    for (Size column = 0; column < columns_.output; column += piece_) {
      const Size count = std::min(piece_, columns_.output - column);
      std::fill_n(memory.copied, copied_size(), 0.0f);
      for (Size row = 0, rows = 0; row < all_rows(); row += rows) {
        rows = std::min(together_, all_rows() - row);
        if (is_along_rows()) rows = std::min(rows, rows_.output - row % rows_.output);
        add_rows(part, row, rows, column, count, memory);
      }
    }
    write(part, memory);
  }

  /// What some rows of outputs see through all taps, times their gradients.
  void add_rows(const Part& part, Size row, Size rows, Size column, Size columns,
                const Memory& memory) const {
    const Size run = part.channels * rows_.filter, floats = width_ * run;
    std::vector<Tap> taps;
    const T* const first = gradient_of(part, row, column);
    for (Size i = 0; i < rows; ++i) {
      turn(part, row + i, column, memory.copied, memory.turned + i * floats);
      const T* const own = gradient_of(part, row + i, column);
      Size at = own - first;
      if constexpr (sizeof(T) != sizeof(float)) {
        at = i * part_filters_ * piece_;
        for (Size f = 0; f < part.filters; ++f) {
          to_float32(own + f * out_plane(), memory.gradient + at + f * piece_, size(columns));
        }
      }
      if (!is_along_rows()) taps.push_back({i * floats, at});
    }
    const Size step = columns_.stride * run;
    for (Size i = 0; is_along_rows() && i < columns; ++i) taps.push_back({i * step, i});
    std::fill_n(memory.turned + rows * floats, length_, 0.0f);
    TapProduct product{};
    product.taps = taps.data();
    product.tap_count = taps.size();
    product.input_stride = size(is_along_rows() ? floats : step);
    product.channels = size(is_along_rows() ? rows : columns);
    const Size next_row = sizeof(T) == sizeof(float) ? columns_.output : part_filters_ * piece_;
    if constexpr (sizeof(T) == sizeof(float)) {
      product.weights = first;
      product.filter_stride = size(out_plane());
    } else {
      product.weights = memory.gradient;
      product.filter_stride = size(piece_);
    }
    product.weight_stride = size(is_along_rows() ? next_row : 1);
    product.output_stride = size(runs_ * length_);
    product.filters = size(part.filters);
    product.positions = size(length_);
    product.kept = memory.ones;
    for (Size i = 0; i < runs_; ++i) {
      product.input = memory.turned + i * columns_.dilation * run;
      product.output = memory.sums + i * length_;
      kernels().linear.tap_product(product);
    }
  }

  const T* gradient_of(const Part& part, Size row, Size column) const {
    const Size image = row / rows_.output, at = row % rows_.output;
    const Size first = (image * r_.groups + part.group) * filters_ + part.filter;
    return data<T>(r_.output) + first * out_plane() + at * columns_.output + column;
  }

  /// The rows that a row of outputs sees from a column on, channel by channel, side by side.
  void turn(const Part& part, Size row, Size column, float* copied, float* to) const {
    const Size image = row / rows_.output, plane = r_.height * r_.width;
    const Size top = row % rows_.output * rows_.stride - rows_.pad;
    const Size left = column * columns_.stride - columns_.pad;
    const T* const from =
        data<T>(r_.input) + ((image * r_.groups + part.group) * channels_ + part.channel) * plane;
    const Size run = part.channels * rows_.filter;
    // The last piece may be narrower.
    const Size begin = std::clamp<Size>(-left, 0, width_);
    const Size end = std::clamp<Size>(columns_.input - left, begin, width_);
    if (is_plain()) {
      return row_kernels<T>().transpose(from + top * columns_.input + left, size(run), size(plane),
                                        size(end), 1, to, size(run));
    }
    for (Size c = 0; c < part.channels; ++c) {
      for (Size y = 0; y < rows_.filter; ++y) {
        const Size at = top + y * rows_.dilation;
        float* const own = copied + (c * rows_.filter + y) * width_;
        if (at < 0 || at >= rows_.input) {
          std::fill_n(own + begin, end - begin, 0.0f);
        } else {
          to_float32(from + c * plane + at * columns_.input + left + begin, own + begin,
                     size(end - begin));
        }
      }
    }
    row_kernels<float>().transpose(copied, size(run), size(width_), size(width_), 1, to, size(run));
  }

  /// Sums of a filter are [columns of taps][channels][rows of taps], in runs of whole vectors.
  void write(const Part& part, const Memory& memory) const {
    const Size taps = rows_.filter * columns_.filter, run = part.channels * rows_.filter;
    for (Size f = 0; f < part.filters; ++f) {
      const float* own = memory.sums + f * runs_ * length_;
      if (columns_.filter > 1) {
        row_kernels<float>().transpose(own, size(columns_.filter), size(runs_ == 1 ? run : length_),
                                       size(run), 1, memory.filter, size(columns_.filter));
        own = memory.filter;
      }
      const Size filter = part.group * filters_ + part.filter + f;
      from_float32(own, data<T>(r_.filter) + (filter * channels_ + part.channel) * taps,
                   size(part.channels * taps));
    }
  }

  const Conv2dRequest& r_;
  SlidingAxis rows_, columns_;
  Size channels_, filters_;  ///< of a group
  Size piece_ = 1;           ///< columns of outputs that go together
  Size width_ = 1;           ///< columns that these see
  Size part_channels_ = 1, channel_parts_ = 1;
  Size part_filters_ = 1, filter_parts_ = 1;
  Size run_ = 1;                ///< floats of a column
  Size runs_ = 1, length_ = 1;  ///< of what an output sees, in whole vectors
  Size together_ = 1;           ///< rows of outputs
};

}  // namespace

template <class T>
double cost_of_filter_windows(const Conv2dRequest& r, const MemoryPool& pool) {
  return cost_in(pool, FilterWindows<T>(r));
}

template <class T>
void filter_gradient_by_windows(const Conv2dRequest& r, MemoryPool& pool) {
  FilterWindows<T>(r).run(pool);
}

template double cost_of_filter_windows<float>(const Conv2dRequest&, const MemoryPool&);
template double cost_of_filter_windows<Half>(const Conv2dRequest&, const MemoryPool&);
template void filter_gradient_by_windows<float>(const Conv2dRequest&, MemoryPool&);
template void filter_gradient_by_windows<Half>(const Conv2dRequest&, MemoryPool&);

}  // namespace tilewright::cpu
