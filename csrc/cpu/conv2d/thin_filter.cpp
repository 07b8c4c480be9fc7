#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/conv2d/thin.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

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
    const Size floats = channels_ * planes_.channel_stride;
    const Size shared = std::max<Size>(r_.groups / (4 * static_cast<Size>(thread_count())), 1);
    const Size together = std::min(planes_together(floats), shared);
    const std::size_t packed = packed_size(planes_, channels_ * together);
    const std::size_t gradient = size(block_.rows) * stride_;
    const std::size_t sums = size(together) * sums_of_group();
    const Size tasks = (r_.groups + together - 1) / together;
    OpScratch all(pool, op,
                  Scratch::rounded(packed) + Scratch::rounded(gradient) + Scratch::rounded(sums) +
                      Scratch::rounded(filter_taps()),
                  size(tasks));
    parallel_tasks(size(tasks), [&](std::size_t task) {
      Scratch scratch(all);
      const Memory memory{scratch.take(packed), scratch.take(gradient), scratch.take(sums),
                          scratch.take(filter_taps())};
      std::fill_n(memory.sums, sums, 0.0f);
      // Beyond the columns it stays 0.
      std::fill_n(memory.gradient, gradient, 0.0f);
      const Size first = static_cast<Size>(task) * together;
      const Size groups = std::min(together, r_.groups - first);
      for (Size image = 0; image < r_.batch; ++image) {
        for (Size row = 0; row < r_.out_height; row += block_.rows) {
          add_block(image * r_.groups + first, groups, row, memory);
        }
      }
      const float* own = memory.sums;
      for (Size i = first * filters_ * channels_; i < (first + groups) * filters_ * channels_;
           ++i) {
        // Taps that see padding alone are not among them.
        std::fill_n(memory.filter, filter_taps(), 0.0f);
        for (const Size at : taps_.weights()) {
          memory.filter[at] = std::accumulate(own, own + kernels().simd_width, 0.0f);
          own += kernels().simd_width;
        }
        from_float32(memory.filter, data<T>(r_.filter) + i * static_cast<Size>(filter_taps()),
                     filter_taps());
      }
    });
  }

 private:
  struct Memory {
    float *planes, *gradient, *sums, *filter;
  };

  std::size_t filter_taps() const { return size(r_.filter_height * r_.filter_width); }
  std::size_t sums_of_group() const {
    return size(filters_ * channels_) * taps_.weights().size() * kernels().simd_width;
  }

  /// Of some groups that follow each other.
  void add_block(Size first_group, Size groups, Size first_row, const Memory& memory) const {
    const Size plane = r_.height * r_.width, out_plane = r_.out_height * r_.out_width;
    const ConvBlock block{first_row, 0, std::min(block_.rows, r_.out_height - first_row),
                          r_.out_width};
    pack_planes(rows_, columns_, planes_, block,
                data<T>(r_.input) + first_group * channels_ * plane, channels_ * groups,
                memory.planes);
    const ThinTaps taps = taps_.taps();
    const auto thin_dots = conv_table().thin_dots;
    float* sums = memory.sums;
    for (Size i = 0; i < groups * filters_; ++i) {
      const T* const from =
          data<T>(r_.output) + (first_group * filters_ + i) * out_plane + first_row * r_.out_width;
      for (Size y = 0; y < block.rows; ++y) {
        to_float32(from + y * r_.out_width, memory.gradient + size(y) * stride_,
                   size(r_.out_width));
      }
      for (Size c = 0; c < channels_; ++c) {
        thin_dots({&taps, memory.planes + (i / filters_ * channels_ + c) * planes_.channel_stride,
                   memory.gradient, stride_, size(block.rows), size(block.columns), sums});
        sums += taps_.weights().size() * kernels().simd_width;
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
