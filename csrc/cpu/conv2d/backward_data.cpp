#include <string_view>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/conv2d/conv2d.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_data";

template <class T>
void backward(const Conv2dRequest& r, const float* weights, MemoryPool& pool) {
  const Size taps = r.filter_height * r.filter_width;
  const Size channels = r.channels / r.groups, filters = r.filters / r.groups;
  const auto [rows, columns] = axes_of(r);
  correlate(Correlation<T>{
      .op = op,
      .pool = pool,
      .rows = ConvAxis::backward(rows),
      .columns = ConvAxis::backward(columns),
      .batch = r.batch,
      .groups = r.groups,
      .channels = filters,
      .filters = channels,
      .source = data<T>(r.output),
      .weights = weights,
      .group_stride = filters * channels * taps,
      .filter_stride = taps,
      .channel_stride = channels * taps,
      .row_stride = r.filter_width,
      .start = nullptr,
      .target = data<T>(r.input),
  });
}

}  // namespace

void CpuBackend::do_conv2d_backward_data(const Conv2dRequest& r) {
  if (takes_meetings(r, walked_pairs_backward(r))) {
    return sum_meetings(op, sums_of(r), *memory_);
  }
  const Size weights = r.filters * (r.channels / r.groups) * r.filter_height * r.filter_width;
  AllocationRef copy;
  const float* const filter = as_float32(op, r.filter, weights, r.dtype, *memory_, copy);
  if (takes_channels(r)) return convolve_channels(op, r, filter, nullptr, *memory_);
  r.dtype == DType::float16 ? backward<Half>(r, filter, *memory_)
                            : backward<float>(r, filter, *memory_);
}

}  // namespace tilewright::cpu
