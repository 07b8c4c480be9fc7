#include <algorithm>
#include <limits>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of a padded plane that stays in the second-level cache.
constexpr double most_floats = 1 << 16, small_floats = 1 << 12;
constexpr double parallel_threshold = 1 << 18;
/// Elements of a vector of any instruction set, or more.
constexpr Size room = 16;

Size reach(const SlidingAxis& axis) {
  return (axis.output - 1) * axis.stride + (axis.filter - 1) * axis.dilation + 1;
}

/// Planes of 3x3 windows, where they lie.
class Planes {
 public:
  Planes(const Conv2dRequest& r, const float* weights, const float* bias)
      : r_(r), weights_(weights), bias_(bias), rows_(axes_of(r)[0]), columns_(axes_of(r)[1]) {}

  void run(std::string_view op, MemoryPool& pool) const {
    const Size planes = r_.batch * r_.groups;
    const Size pieces = 8 * static_cast<Size>(thread_count());
    const Size group = is_small() ? planes : planes / pieces + 1;
    const std::size_t tasks = size((planes + group - 1) / group);
    const std::size_t copied = size(rows_.input * columns_.input + 4 * room);
    OpScratch all(pool, op, Scratch::rounded(copied), tasks);
    parallel_tasks(tasks, [&](std::size_t task) {
      Scratch scratch(all);
      float* const copy = scratch.take(copied);
      const Size first = static_cast<Size>(task) * group, last = std::min(planes, first + group);
      for (Size i = first; i < last; ++i) weigh(i, copy);
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
    const bool is_clamp = r_.addend == nullptr &&
                          (r_.activation == Activation::relu || r_.activation == Activation::relu6);
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
        const float* const addend = r_.addend != nullptr
                                        ? data<float>(r_.addend) + (output - data<float>(r_.output))
                                        : nullptr;
        end_sums(addend, r_.activation, r_.slope, output, outputs);
      }
    }
  }

  const Conv2dRequest& r_;
  const float *weights_, *bias_;
  SlidingAxis rows_, columns_;
  Size filters_ = r_.filters / r_.groups;
};

}  // namespace

bool takes_planes(const Conv2dRequest& r) {
  if (r.channels != r.groups || r.dtype != DType::float32) return false;
  const auto [rows, columns] = axes_of(r);
  const auto is_three = [](const SlidingAxis& x) {
    return x.filter == 3 && x.dilation == 1 && x.stride <= 2 && x.pad <= room;
  };
  if (!is_three(rows) || !is_three(columns) || rows.stride != columns.stride) return false;
  const double floats = static_cast<double>(reach(rows)) * static_cast<double>(reach(columns));
  const bool has_tasks = r.batch * r.groups >= 2 * static_cast<Size>(thread_count());
  return floats <= most_floats && (has_tasks || floats <= small_floats);
}

void convolve_planes(std::string_view op, const Conv2dRequest& r, const float* weights,
                     const float* bias, MemoryPool& pool) {
  Planes(r, weights, bias).run(op, pool);
}

}  // namespace tilewright::cpu
