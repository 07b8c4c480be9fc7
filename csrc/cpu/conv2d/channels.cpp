#include <algorithm>
#include <string_view>
#include <vector>

#include "core/convolution.hpp"
#include "core/requests.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// The meetings of an axis as the kernel takes them.
class AxisLanes {
 public:
  explicit AxisLanes(const Meetings& meetings)
      : a_step_(meetings.a_step), b_step_(meetings.b_step) {
    for (const Meeting& m : meetings.of) of_.push_back({m.a, m.b, size(m.count)});
  }
  LaneMeetings meetings() const { return {of_.data(), of_.size(), a_step_, b_step_}; }

 private:
  std::vector<LaneMeeting> of_;
  std::ptrdiff_t a_step_, b_step_;
};

/// Filters of one channel each over small planes, as many of which lie side by side as a vector has
/// lanes: no tap that sees padding is taken, and no part of a vector is left by short rows.
template <class T>
class ChannelLanes {
 public:
  ChannelLanes(std::string_view op, const Conv2dRequest& r, const float* weights, const float* bias)
      : op_(op),
        r_(r),
        weights_(weights),
        bias_(bias),
        rows_(meetings(axes_of(r)[0], r.op)),
        columns_(meetings(axes_of(r)[1], r.op)),
        input_(r.height * r.width),
        output_(r.out_height * r.out_width),
        taps_(r.filter_height * r.filter_width) {}

  void run(MemoryPool& pool) const {
    const Size groups = ceil_div(r_.channels, lanes());
    const bool is_sum = r_.op == ConvOp::backward_filter;
    const Size threads = static_cast<Size>(thread_count());
    const Size parts =
        is_sum || threads == 1 ? 1 : std::clamp<Size>(ceil_div(4 * threads, groups), 1, r_.batch);
    const std::size_t floats = Scratch::rounded(size(input_ * lanes())) +
                               Scratch::rounded(size(output_ * lanes())) +
                               Scratch::rounded(size(taps_ * lanes())) +
                               Scratch::rounded(size(lanes())) + Scratch::rounded(line_size());
    OpScratch all(pool, op_, floats, size(groups * parts));
    parallel_tasks(size(groups * parts), [&](std::size_t index) {
      const Size group = static_cast<Size>(index) / parts, part = static_cast<Size>(index) % parts;
      Scratch scratch(all);
      Memory memory{};
      memory.input = scratch.take(size(input_ * lanes()));
      memory.output = scratch.take(size(output_ * lanes()));
      memory.filter = scratch.take(size(taps_ * lanes()));
      memory.start = scratch.take(size(lanes()));
      memory.line = scratch.take(line_size());
      // Lanes beyond the channels have no planes.
      std::fill_n(memory.input, input_ * lanes(), 0.0f);
      std::fill_n(memory.output, output_ * lanes(), 0.0f);
      std::fill_n(memory.filter, taps_ * lanes(), 0.0f);
      std::fill_n(memory.start, lanes(), 0.0f);
      const Size first = group * lanes(), count = std::min(lanes(), r_.channels - first);
      const Size begin = part * r_.batch / parts, end = (part + 1) * r_.batch / parts;
      run_group(first, count, begin, end, memory);
    });
  }

 private:
  struct Memory {
    float *input, *output, *filter, *start, *line;
  };

  std::size_t line_size() const {
    return sizeof(T) == sizeof(float) ? 0 : size(std::max({input_, output_, taps_}) * lanes());
  }

  /// Some images of some channels.
  void run_group(Size first, Size count, Size begin, Size end, const Memory& memory) const {
    const T* const input = data<T>(r_.input);
    const T* const output = data<T>(r_.output);
    LaneSums sums{};
    sums.rows = rows_.meetings();
    sums.columns = columns_.meetings();
    sums.start = memory.start;
    sums.a = r_.op == ConvOp::backward_data ? memory.output : memory.input;
    sums.a_width = r_.op == ConvOp::backward_data ? r_.out_width : r_.width;
    sums.b = r_.op == ConvOp::backward_filter ? memory.output : memory.filter;
    sums.b_width = r_.op == ConvOp::backward_filter ? r_.out_width : r_.filter_width;
    if (r_.op == ConvOp::backward_filter) {
      sums.to = memory.filter;
      sums.start = nullptr;
    } else {
      turn(weights_ + first * taps_, count, taps_, memory.filter);
      sums.to = r_.op == ConvOp::forward ? memory.output : memory.input;
      if (bias_ != nullptr) std::copy_n(bias_ + first, count, memory.start);
    }
    for (Size image = begin; image < end; ++image) {
      const Size plane = image * r_.channels + first;
      if (r_.op != ConvOp::backward_data) {
        turn(input + plane * input_, count, input_, memory.input);
      }
      if (r_.op != ConvOp::forward) turn(output + plane * output_, count, output_, memory.output);
      conv_table().lane_sums(sums);
      if (r_.op == ConvOp::forward) put(r_.output, plane, count, output_, memory.output, memory);
      if (r_.op == ConvOp::backward_data) {
        put(r_.input, plane, count, input_, memory.input, memory);
      }
    }
    if (r_.op == ConvOp::backward_filter) {
      put(r_.filter, first, count, taps_, memory.filter, memory);
    }
  }

  template <class U>
  static void turn(const U* planes, Size count, Size elements, float* to) {
    row_kernels<U>().transpose(planes, size(count), size(elements), size(elements), 1, to,
                               size(lanes()));
  }

  void put(const BufferRange& result, Size plane, Size count, Size elements, const float* sums,
           const Memory& memory) const {
    T* const to = data<T>(result) + plane * elements;
    float* line = memory.line;
    if constexpr (sizeof(T) == sizeof(float)) line = to;
    row_kernels<float>().transpose(sums, size(elements), size(lanes()), size(count), 1, line,
                                   size(elements));
    if (r_.op == ConvOp::forward) {
      const T* const addend =
          r_.addend != nullptr ? data<T>(r_.addend) + plane * elements : nullptr;
      end_sums(addend, r_.activation, r_.slope, line, count * elements);
    }
    if constexpr (sizeof(T) != sizeof(float)) from_float32(line, to, size(count * elements));
  }

  std::string_view op_;
  const Conv2dRequest& r_;
  const float *weights_, *bias_;
  AxisLanes rows_, columns_;
  Size input_, output_, taps_;  ///< elements of their planes
};

}  // namespace

bool takes_channels(const Conv2dRequest& r) {
  // Rows of more outputs fill vectors as well where they lie. Planes stay in the nearest caches.
  constexpr Size most_outputs = 10, most_columns = 21, most_elements = 1024, fewest_taps = 9;
  // Sums over outputs gain more.
  constexpr Size most_summed = 14, most_summed_columns = 28;
  if (r.channels != r.groups || r.filters != r.groups) return false;
  if (r.filter_height * r.filter_width < fewest_taps) return false;
  const bool is_sum = r.op == ConvOp::backward_filter;
  if (r.out_width > (is_sum ? most_summed : most_outputs) ||
      r.width > (is_sum ? most_summed_columns : most_columns) ||
      r.height * r.width > most_elements || r.out_height * r.out_width > most_elements) {
    return false;
  }
  // Planes of 3x3 windows are taken as they lie, but for the shortest rows.
  if (r.op == ConvOp::forward && takes_planes(r) && (r.stride[1] == 1 || r.out_width > 4)) {
    return false;
  }
  const Size groups = ceil_div(r.channels, lanes()), threads = static_cast<Size>(thread_count());
  if (is_sum && threads > 1 && groups < 2 * threads) return false;
  return 5 * r.channels >= 3 * groups * lanes();
}

void convolve_channels(std::string_view op, const Conv2dRequest& r, const float* weights,
                       const float* bias, MemoryPool& pool) {
  if (r.dtype == DType::float16) {
    ChannelLanes<Half>(op, r, weights, bias).run(pool);
  } else {
    ChannelLanes<float>(op, r, weights, bias).run(pool);
  }
}

}  // namespace tilewright::cpu
