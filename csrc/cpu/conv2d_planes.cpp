#include <algorithm>

#include "cpu/conv2d.hpp"
#include "cpu/convert.hpp"
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
  }

  void run(std::string_view op, MemoryPool& pool) const {
    const Size planes = r_.batch * r_.groups;
    const Size pieces = 8 * static_cast<Size>(thread_count());
    const Size group = is_small() ? planes : planes / pieces + 1;
    const std::size_t tasks = size((planes + group - 1) / group);
    const std::size_t packed = size(height_ * width_), results = size(outputs_);
    OpScratch all(pool, op, Scratch::rounded(packed) + Scratch::rounded(results), tasks);
    parallel_tasks(tasks, [&](std::size_t task) {
      Scratch scratch(all);
      float* const plane = scratch.take(packed);
      float* const sums = scratch.take(results);
      std::fill_n(plane, packed, 0.0f);
      const Size first = static_cast<Size>(task) * group;
      for (Size i = first; i < std::min(planes, first + group); ++i) {
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
      if (r_.activation != Activation::none) {
        kernels().activate(r_.activation, r_.slope, sums, size(outputs_));
      }
    };
    if (is_run_) run(plane);
    for (Size row = 0; row < rows_.output; ++row) {
      if (!is_run_) run(plane + row * rows_.stride * width_);
      from_float32(sums + (is_run_ ? row * width_ : 0), output + row * columns_.output,
                   size(columns_.output));
    }
  }

  const Conv2dRequest& r_;
  const float *weights_, *bias_;
  SlidingAxis rows_, columns_;
  Size height_ = reach(rows_), width_ = reach(columns_);
  Size filters_ = r_.filters / r_.groups;
  Size outputs_, begin_, count_;
  bool is_run_;
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
