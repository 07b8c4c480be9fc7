#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/memory.hpp"
#include "cpu/ops/pool.hpp"
#include "cpu/sizes.hpp"

namespace tilewright::cpu {

namespace {

/// Elements of a plane, of which as many are turned on the stack as a vector has lanes.
constexpr Size most_elements = 256;
constexpr std::size_t most_lanes = 16;
/// Rows of more outputs fill vectors as well where they lie.
constexpr Size most_outputs = 4;

/// Means of windows of small planes, as many side by side as a vector has lanes.
template <class T>
class PoolLanes {
 public:
  PoolLanes(const PoolRequest& r, const PoolTables& tables, double divisor)
      : planes_(size(r.planes)),
        length_(tables.length(1) * tables.length(2)),
        out_(tables.out(1) * tables.out(2)),
        width_(r.windows.axes[2].length),
        divisor_(static_cast<float>(divisor)),
        input_(data<T>(r.input)),
        output_(data<T>(r.output)) {
    for (std::size_t axis = 1; axis <= 2; ++axis) {
      for (std::size_t i = 0; i < tables.out(axis); ++i) {
        const PoolSpan span = tables.span(axis, i);
        spans_[axis - 1].push_back({span.first, 0, size(span.count)});
      }
      steps_[axis - 1] = r.windows.adaptive ? 1 : r.windows.axes[axis].dilation;
    }
    for (std::size_t y = 0; y < tables.out(1); ++y) {
      const Size rows = std::max<Size>(tables.span(1, y).counted, 1);
      for (std::size_t x = 0; x < tables.out(2); ++x) {
        counted_.push_back(static_cast<float>(rows * std::max<Size>(tables.span(2, x).counted, 1)));
      }
    }
  }

  void run() const {
    const std::size_t lanes = kernels().simd_width, groups = (planes_ + lanes - 1) / lanes;
    parallel_units(groups, lanes * (length_ + out_), [&](std::size_t group) {
      pool_planes(group * lanes, std::min(lanes, planes_ - group * lanes));
    });
  }

 private:
  LaneMeetings meetings(std::size_t axis) const {
    return {spans_[axis].data(), spans_[axis].size(), steps_[axis], 0};
  }

  void pool_planes(std::size_t first, std::size_t count) const {
    const std::size_t lanes = kernels().simd_width;
    alignas(64) float turned[most_elements * most_lanes], sums[most_elements * most_lanes];
    alignas(64) float ones[most_lanes], zeros[most_lanes] = {};
    alignas(64) float line[most_elements];
    std::fill_n(ones, most_lanes, 1.0f);
    // Lanes without a plane are not read.
    if (count < lanes) std::fill_n(turned, length_ * lanes, 0.0f);
    row_kernels<T>().transpose(input_ + first * length_, count, length_, length_, 1, turned, lanes);
    conv_table().lane_sums({turned, ones, width_, 0, meetings(0), meetings(1), zeros, sums});
    if constexpr (std::is_same_v<T, float>) {
      float* const to = output_ + first * out_;
      row_kernels<float>().transpose(sums, out_, lanes, count, 1, to, out_);
      for (std::size_t i = 0; i < count; ++i) divide(to + i * out_);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < out_; ++k) line[k] = sums[k * lanes + i];
        divide(line);
        write_row(line, output_ + (first + i) * out_, out_);
      }
    }
  }

  void divide(float* x) const {
    const bool is_given = divisor_ != 0;
    window_table().float32.divide(x, is_given ? nullptr : counted_.data(), is_given ? divisor_ : 1,
                                  out_);
  }

  std::size_t planes_, length_, out_;  ///< elements of planes
  Size width_;
  float divisor_;
  const T* input_;
  T* output_;
  std::vector<LaneMeeting> spans_[2];
  std::ptrdiff_t steps_[2];
  std::vector<float> counted_;
};

}  // namespace

bool takes_pool_lanes(const PoolRequest& r, const PoolTables& tables) {
  const PoolAxis &depth = r.windows.axes[0], &rows = r.windows.axes[1],
                 &columns = r.windows.axes[2];
  return r.op != PoolOp::max && depth.length == 1 && tables.out(0) == 1 &&
         tables.span(0, 0).count == 1 && tables.span(0, 0).counted == 1 &&
         columns.out <= most_outputs && columns.out > 1 &&
         rows.out * columns.out <= most_elements && rows.length * columns.length <= most_elements &&
         r.planes >= static_cast<Size>(kernels().simd_width);
}

template <class T>
void pool_lanes(const PoolRequest& r, const PoolTables& tables, double divisor) {
  PoolLanes<T>(r, tables, divisor).run();
}

template void pool_lanes<float>(const PoolRequest&, const PoolTables&, double);
template void pool_lanes<Half>(const PoolRequest&, const PoolTables&, double);

}  // namespace tilewright::cpu
