#include <algorithm>
#include <limits>

#include "cpu/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/kernels/windows_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of a padded plane that stays in the second-level cache.
constexpr double most_floats = 1 << 16, small_floats = 1 << 12;
constexpr double parallel_threshold = 1 << 18;
/// Outputs of a row that are worth a run of their own.
constexpr Size wide_row = 48, wide_strided_row = 16;

Size reach(const SlidingAxis& axis) {
  return (axis.output - 1) * axis.stride + (axis.filter - 1) * axis.dilation + 1;
}

std::size_t size(Size n) { return static_cast<std::size_t>(n); }

/// A plane is laid out with its padding. Rows of outputs, or where these are short all of them as
/// one run with some between the rows that mean nothing, are sums of its elements.
template <class T>
class Planes {
 public:
  Planes(const Conv2dRequest& r, const float* weights, const float* bias)
      : r_(r), weights_(weights), bias_(bias), rows_(axes_of(r)[0]), columns_(axes_of(r)[1]) {
    is_run_ = rows_.stride == columns_.stride &&
              columns_.output < (columns_.stride == 1 ? wide_row : wide_strided_row);
    outputs_ = columns_.output + (is_run_ ? (rows_.output - 1) * width_ : 0);
    begin_ = std::min(columns_.pad, width_);
    count_ = std::min(columns_.input, width_ - begin_);
    const auto is_three = [](const SlidingAxis& x) {
      return x.filter == 3 && x.dilation == 1 && x.stride <= 2 && x.pad <= room;
    };
    is_direct_ = sizeof(T) == sizeof(float) && is_three(rows_) && is_three(columns_) &&
                 rows_.stride == columns_.stride;
  }

  void run(std::string_view op, MemoryPool& pool) const {
    const Size planes = r_.batch * r_.groups;
    const Size pieces = 8 * static_cast<Size>(thread_count());
    const Size group = is_small() ? planes : planes / pieces + 1;
    const std::size_t tasks = size((planes + group - 1) / group);
    const Size input_plane = rows_.input * columns_.input;
    const std::size_t packed = size(is_direct_ ? input_plane + 4 * room : height_ * width_);
    const std::size_t results = size(is_direct_ ? 0 : outputs_);
    OpScratch all(pool, op, Scratch::rounded(packed) + Scratch::rounded(results), tasks);
    parallel_tasks(tasks, [&](std::size_t task) {
      Scratch scratch(all);
      float* const plane = scratch.take(packed);
      float* const sums = scratch.take(results);
      const Size first = static_cast<Size>(task) * group, last = std::min(planes, first + group);
      if constexpr (sizeof(T) == sizeof(float)) {
        if (is_direct_) {
          for (Size i = first; i < last; ++i) weigh(i, plane);
          return;
        }
      }
      std::fill_n(plane, packed, 0.0f);
      for (Size i = first; i < last; ++i) {
        pack(data<T>(r_.input) + i * rows_.input * columns_.input, plane);
        for (Size f = 0; f < filters_; ++f) {
          filter(i % r_.groups * filters_ + f, plane, sums,
                 data<T>(r_.output) + (i * filters_ + f) * rows_.output * columns_.output);
        }
      }
    });
  }

 private:
  bool is_small() const {
    return static_cast<double>(r_.batch * r_.filters) * walked_pairs(r_) < parallel_threshold;
  }

  /// A plane of 3x3 windows where it lies, or where vectors would reach past the whole input, as a
  /// copy in `copy` with room on both sides.
  void weigh(Size index, float* copy) const {
    const Size plane = rows_.input * columns_.input, from = index * plane;
    const float* input = data<float>(r_.input) + from;
    if (from < columns_.pad || from + plane + 3 * room > r_.batch * r_.groups * plane) {
      std::fill_n(copy, room, 0.0f);
      std::copy_n(input, plane, copy + room);
      std::fill_n(copy + room + plane, 3 * room, 0.0f);
      input = copy + room;
    }
    const bool is_clamp = r_.addend == nullptr && (r_.activation == Activation::relu ||
                                                   r_.activation == Activation::relu6);
    const Size outputs = rows_.output * columns_.output;
    const auto weigh_plane = conv_table().weigh_plane;
    for (Size f = 0; f < filters_; ++f) {
      const Size filter = index % r_.groups * filters_ + f;
      float* const output = data<float>(r_.output) + (index * filters_ + f) * outputs;
      weigh_plane({input, rows_.input, columns_.input, rows_.output, columns_.output, rows_.pad,
                   columns_.pad, size(rows_.stride), weights_ + filter * 9,
                   bias_ != nullptr ? bias_[filter] : 0, is_clamp, 0,
                   r_.activation == Activation::relu6 ? 6 : std::numeric_limits<float>::infinity(),
                   output, plane});
      if (!is_clamp) {
        const float* const addend =
            r_.addend != nullptr ? data<float>(r_.addend) + (output - data<float>(r_.output))
                                 : nullptr;
        end_sums(addend, r_.activation, r_.slope, output, outputs);
      }
    }
  }

  void pack(const T* from, float* plane) const {
    for (Size row = std::min(rows_.pad, height_); row < height_; ++row) {
      const Size own = row - rows_.pad;
      if (own >= rows_.input) break;
      to_float32(from + own * columns_.input, plane + row * width_ + begin_, size(count_));
    }
  }

  void filter(Size filter, const float* plane, float* sums, T* output) const {
    const PlaneWindows windows{
        {size(columns_.filter), size(columns_.stride), size(columns_.dilation)},
        size(rows_.filter),
        size(rows_.dilation * width_)};
    const float* const weights = weights_ + filter * rows_.filter * columns_.filter;
    const float start = bias_ != nullptr ? bias_[filter] : 0;
    const auto run = [&](const float* from) {
      window_table().weigh_windows(from, windows, weights, start, sums, size(outputs_));
      if (r_.addend == nullptr) {
        end_sums<T>(nullptr, r_.activation, r_.slope, sums, outputs_);
      }
    };
    if (is_run_) run(plane);
    for (Size row = 0; row < rows_.output; ++row) {
      if (!is_run_) run(plane + row * rows_.stride * width_);
      float* const own = sums + (is_run_ ? row * width_ : 0);
      T* const to = output + row * columns_.output;
      if (r_.addend != nullptr) {
        end_sums(data<T>(r_.addend) + (to - data<T>(r_.output)), r_.activation, r_.slope, own,
                 columns_.output);
      }
      from_float32(own, to, size(columns_.output));
    }
  }

  /// Elements of a vector of any instruction set, or more.
  static constexpr Size room = 16;

  const Conv2dRequest& r_;
  const float *weights_, *bias_;
  SlidingAxis rows_, columns_;
  Size height_ = reach(rows_), width_ = reach(columns_);
  Size filters_ = r_.filters / r_.groups;
  Size outputs_, begin_, count_;
  bool is_run_, is_direct_;
};

}  // namespace

bool takes_planes(const Conv2dRequest& r) {
  if (r.channels != r.groups) return false;
  const auto [rows, columns] = axes_of(r);
  const double floats = static_cast<double>(reach(rows)) * static_cast<double>(reach(columns));
  const bool has_tasks = r.batch * r.groups >= 2 * static_cast<Size>(thread_count());
  return floats <= most_floats && (has_tasks || floats <= small_floats);
}

void convolve_planes(std::string_view op, const Conv2dRequest& r, const float* weights,
                     const float* bias, MemoryPool& pool) {
  r.dtype == DType::float16 ? Planes<Half>(r, weights, bias).run(op, pool)
                            : Planes<float>(r, weights, bias).run(op, pool);
}

}  // namespace tilewright::cpu
