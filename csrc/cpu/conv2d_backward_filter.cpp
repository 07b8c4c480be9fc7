#include <algorithm>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/openblas.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr Size part_filters = 128, fewest_filters = 16;
/// Of the shifted inputs that go into one product: they stay in the second-level cache.
constexpr Size cache_floats = Size{1} << 18;
/// Below this many products a matrix product costs more than it brings.
constexpr Size few_products = 16;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// The output gradient times the inputs of all taps transposed: for each tap and channel one run of
/// positions, cut from the input's planes where the tap shifts them.
template <class T>
class FilterGradient {
 public:
  explicit FilterGradient(const Conv2dRequest& r)
      : r_(r),
        rows_(ConvAxis::forward(r.height, r.filter_height, r.out_height, r.stride[0], r.pad[0],
                                r.dilation[0])),
        columns_(ConvAxis::forward(r.width, r.filter_width, r.out_width, r.stride[1], r.pad[1],
                                   r.dilation[1])),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups),
        size_(block_size(rows_, columns_, channels_, 1)),
        planes_(rows_, columns_, size_.rows, size_.columns),
        packed_(packed_size(planes_, channels_)) {
    for (const AxisTap& row : rows_.target_phases[0].taps) {
      for (const AxisTap& column : columns_.target_phases[0].taps) {
        taps_.push_back(planes_.offset(rows_, columns_, row, column));
      }
    }
    const auto threads = static_cast<Size>(thread_count());
    const Size wanted = ceil_div(threads, r.groups);
    part_ = std::min(part_filters, std::max(fewest_filters, ceil_div(filters_, wanted)));
    part_ = std::min(part_, filters_);
    const Size parts = ceil_div(filters_, part_);
    const auto taps = static_cast<Size>(taps_.size());
    shifted_runs_ =
        std::clamp<Size>(cache_floats / (size_.rows * planes_.width), 1, taps * channels_);
    tap_part_ = ceil_div(taps, std::min(taps, ceil_div(wanted, parts)));
  }

  void run() const {
    const auto taps = static_cast<Size>(taps_.size());
    const Size parts = ceil_div(filters_, part_), tap_parts = ceil_div(taps, tap_part_);
    parallel_tasks(static_cast<std::size_t>(r_.groups * parts * tap_parts), [&](std::size_t task) {
      const Size index = static_cast<Size>(task);
      const Size tap = index % tap_parts * tap_part_;
      const Size filter = index / tap_parts % parts * part_;
      run_part(index / tap_parts / parts, filter, std::min(part_, filters_ - filter), tap,
               std::min(tap_part_, taps - tap));
    });
  }

 private:
  void run_part(Size group, Size filter, Size filters, Size tap, Size taps) const {
    const Size positions = size_.rows * planes_.width;
    const auto gradient_size = static_cast<std::size_t>(filters * positions);
    const auto shifted_size =
        static_cast<std::size_t>(std::max(channels_, shifted_runs_ * positions));
    const auto sums_size = static_cast<std::size_t>(taps * filters * channels_);
    Scratch scratch(Scratch::rounded(packed_) + Scratch::rounded(gradient_size) +
                    Scratch::rounded(sums_size) + Scratch::rounded(shifted_size));
    float* const input = scratch.take(packed_);
    float* const gradient = scratch.take(gradient_size);
    float* const sums = scratch.take(sums_size);
    float* const shifted = scratch.take(shifted_size);
    std::fill_n(sums, sums_size, 0.0f);

    const Size out_plane = r_.out_height * r_.out_width;
    for (Size image = 0; image < r_.batch; ++image) {
      const T* const source =
          data<T>(r_.input) + (image * r_.channels + group * channels_) * r_.height * r_.width;
      const T* const target =
          data<T>(r_.output) + (image * r_.filters + group * filters_ + filter) * out_plane;
      for (ConvBlock block = size_; block.row < r_.out_height; block.row += size_.rows) {
        block.rows = std::min(size_.rows, r_.out_height - block.row);
        for (block.column = 0; block.column < r_.out_width; block.column += size_.columns) {
          block.columns = std::min(size_.columns, r_.out_width - block.column);
          pack_planes(rows_, columns_, planes_, block, source, channels_, input);
          pack_gradient(block, target, filters, gradient);
          if (filters * channels_ < few_products) {
            add_dots(block, input, gradient, filters, tap, taps, sums, shifted);
          } else {
            add_products(block, input, gradient, filters, tap, taps, sums, shifted);
          }
        }
      }
    }
    write(group * filters_ + filter, filters, tap, taps, sums);
  }

  /// The block's rows, zeros between them.
  void pack_gradient(const ConvBlock& block, const T* from, Size filters, float* to) const {
    const Size length = planes_.positions(block);
    for (Size f = 0; f < filters; ++f) {
      float* const run = to + f * length;
      for (Size i = 0; i < block.rows; ++i) {
        const Size at = (f * r_.out_height + block.row + i) * r_.out_width + block.column;
        to_float32(from + at, run + i * planes_.width, static_cast<std::size_t>(block.columns));
        if (i + 1 < block.rows) {
          std::fill_n(run + i * planes_.width + block.columns, planes_.width - block.columns, 0.0f);
        }
      }
    }
  }

  const float* source_of(const float* input, Size tap, Size channel) const {
    return input + taps_[static_cast<std::size_t>(tap)] + channel * planes_.channel_stride;
  }

  /// Sums are [filters][taps][channels].
  void add_products(const ConvBlock& block, const float* input, const float* gradient, Size filters,
                    Size tap, Size taps, float* sums, float* shifted) const {
    const Size length = planes_.positions(block), all = taps * channels_;
    for (Size first = 0; first < all; first += shifted_runs_) {
      const Size count = std::min(shifted_runs_, all - first);
      for (Size i = 0; i < count; ++i) {
        std::copy_n(source_of(input, tap + (first + i) / channels_, (first + i) % channels_),
                    length, shifted + i * length);
      }
      multiply(filters, count, length, 1, {gradient, length}, {shifted, length, true}, 1,
               sums + first, all);
    }
  }

  void add_dots(const ConvBlock& block, const float* input, const float* gradient, Size filters,
                Size tap, Size taps, float* sums, float* products) const {
    const Size length = planes_.positions(block);
    for (Size f = 0; f < filters; ++f) {
      for (Size t = 0; t < taps; ++t) {
        row_kernels<float>().dot_rows(
            source_of(input, tap + t, 0), static_cast<std::size_t>(channels_),
            static_cast<std::size_t>(planes_.channel_stride), gradient + f * length,
            static_cast<std::size_t>(length), 1, products);
        for (Size c = 0; c < channels_; ++c) sums[(f * taps + t) * channels_ + c] += products[c];
      }
    }
  }

  void write(Size first_filter, Size filters, Size tap, Size taps, const float* sums) const {
    const auto all_taps = static_cast<Size>(taps_.size());
    T* const to = data<T>(r_.filter) + first_filter * channels_ * all_taps + tap;
    for (Size f = 0; f < filters; ++f) {
      for (Size c = 0; c < channels_; ++c) {
        for (Size t = 0; t < taps; ++t) {
          from_float32(sums + (f * taps + t) * channels_ + c,
                       to + (f * channels_ + c) * all_taps + t, 1);
        }
      }
    }
  }

  const Conv2dRequest& r_;
  ConvAxis rows_, columns_;
  Size channels_, filters_;  ///< of a group
  ConvBlock size_;
  ConvPlanes planes_;
  std::size_t packed_;
  std::vector<std::ptrdiff_t> taps_;
  Size part_, tap_part_;
  Size shifted_runs_;  ///< that go into one product
};

}  // namespace

void CpuBackend::do_conv2d_backward_filter(const Conv2dRequest& r) {
  r.dtype == DType::float16 ? FilterGradient<Half>(r).run() : FilterGradient<float>(r).run();
}

}  // namespace tilewright::cpu
