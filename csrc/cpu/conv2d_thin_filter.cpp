#include <algorithm>
#include <string_view>
#include <vector>

#include "cpu/conv2d.hpp"
#include "cpu/conv2d_thin.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

std::size_t size(Size n) { return static_cast<std::size_t>(n); }

/// The gradient of filters of few planes: its elements are products of what a tap sees of a plane
/// and the gradient of the output.
template <class T>
class ThinGradient {
 public:
  ThinGradient(const Conv2dRequest& r, const ConvAxis& rows, const ConvAxis& columns,
               const ConvBlock& block)
      : r_(r),
        rows_(rows),
        columns_(columns),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups),
        block_(block),
        planes_(rows, columns, block.rows, block.columns),
        taps_(rows, columns, planes_, rows.target_phases[0].taps, columns.target_phases[0].taps,
              r.filter_width),
        stride_(thin_stride(r.out_width)) {}

  void run(MemoryPool& pool) const {
    const std::size_t packed = packed_size(planes_, channels_);
    const std::size_t gradient = size(block_.rows) * stride_;
    const std::size_t sums = size(filters_ * channels_) * taps_.weights().size();
    const std::size_t taps = size(r_.filter_height * r_.filter_width);
    OpScratch all(pool, op,
                  Scratch::rounded(packed) + Scratch::rounded(gradient) + Scratch::rounded(sums) +
                      Scratch::rounded(taps),
                  size(r_.groups));
    parallel_tasks(size(r_.groups), [&](std::size_t group) {
      Scratch scratch(all);
      float* const planes = scratch.take(packed);
      float* const grads = scratch.take(gradient);
      float* const own = scratch.take(sums);
      float* const filter = scratch.take(taps);
      std::fill_n(own, sums, 0.0f);
      // Beyond the columns it stays 0.
      std::fill_n(grads, gradient, 0.0f);
      for (Size image = 0; image < r_.batch; ++image) {
        for (Size row = 0; row < r_.out_height; row += block_.rows) {
          add_block(image * r_.groups + static_cast<Size>(group), row, planes, grads, own);
        }
      }
      const Size planes_of = filters_ * channels_;
      const float* sum = own;
      for (Size i = 0; i < planes_of; ++i) {
        // Taps that see padding alone are not among them.
        std::fill_n(filter, taps, 0.0f);
        for (const Size at : taps_.weights()) filter[at] = *sum++;
        from_float32(filter,
                     data<T>(r_.filter) + (static_cast<Size>(group) * planes_of + i) *
                                              static_cast<Size>(taps),
                     taps);
      }
    });
  }

 private:
  void add_block(Size group, Size first_row, float* planes, float* grads, float* sums) const {
    const Size plane = r_.height * r_.width, out_plane = r_.out_height * r_.out_width;
    const ConvBlock block{first_row, 0, std::min(block_.rows, r_.out_height - first_row),
                          r_.out_width};
    pack_planes(rows_, columns_, planes_, block, data<T>(r_.input) + group * channels_ * plane,
                channels_, planes);
    const ThinTaps taps = taps_.taps();
    for (Size f = 0; f < filters_; ++f) {
      const T* const from =
          data<T>(r_.output) + (group * filters_ + f) * out_plane + first_row * r_.out_width;
      for (Size y = 0; y < block.rows; ++y) {
        to_float32(from + y * r_.out_width, grads + size(y) * stride_, size(r_.out_width));
      }
      for (Size c = 0; c < channels_; ++c) {
        conv_table().thin_dots({&taps, planes + c * planes_.channel_stride, grads, stride_,
                                size(block.rows), size(block.columns),
                                sums + size(f * channels_ + c) * taps_.weights().size()});
      }
    }
  }

  const Conv2dRequest& r_;
  const ConvAxis &rows_, &columns_;
  Size channels_, filters_;  ///< of a group
  ConvBlock block_;
  ConvPlanes planes_;
  PairedTaps taps_;
  std::size_t stride_;  ///< of rows of the gradient
};

}  // namespace

template <class T>
bool thin_filter_gradient(const Conv2dRequest& r, MemoryPool& pool) {
  const Size channels = r.channels / r.groups;
  const Size threads = static_cast<Size>(thread_count());
  // Groups are what threads share.
  if (!is_thin(channels, r.filters / r.groups) || (threads > 1 && r.groups < 2 * threads)) {
    return false;
  }
  const auto [height, width] = axes_of(r);
  ConvAxis rows = ConvAxis::forward(height), columns = ConvAxis::forward(width);
  rows.drop_unseen_taps();
  columns.drop_unseen_taps();
  const ConvBlock block = thin_block(rows, columns, channels, 1);
  if (block.rows == 0) return false;
  ThinGradient<T>(r, rows, columns, block).run(pool);
  return true;
}

template bool thin_filter_gradient<float>(const Conv2dRequest&, MemoryPool&);
template bool thin_filter_gradient<Half>(const Conv2dRequest&, MemoryPool&);

}  // namespace tilewright::cpu
