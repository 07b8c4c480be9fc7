#include <string_view>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/conv2d/conv2d.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_forward";

template <class T>
void forward(const Conv2dRequest& r, const float* weights, const float* bias, MemoryPool& pool) {
  const Size taps = r.filter_height * r.filter_width;
  const Size channels = r.channels / r.groups, filters = r.filters / r.groups;
  const auto [rows, columns] = axes_of(r);
  correlate(Correlation<T>{
      .op = op,
      .pool = pool,
      .rows = ConvAxis::forward(rows),
      .columns = ConvAxis::forward(columns),
      .batch = r.batch,
      .groups = r.groups,
      .channels = channels,
      .filters = filters,
      .source = data<T>(r.input),
      .weights = weights,
      .group_stride = filters * channels * taps,
      .filter_stride = channels * taps,
      .channel_stride = taps,
      .row_stride = r.filter_width,
      .start = bias,
      .target = data<T>(r.output),
      .activation = r.activation,
      .slope = r.slope,
      .addend = r.addend != nullptr ? data<T>(r.addend) : nullptr,
  });
}

}  // namespace

void CpuBackend::do_conv2d_forward(const Conv2dRequest& r) {
  if (takes_meetings(r, walked_pairs(r))) {
    return sum_meetings(op, sums_of(r), *memory_);
  }
  const Size weights = r.filters * (r.channels / r.groups) * r.filter_height * r.filter_width;
  AllocationRef filter_copy, bias_copy;
  const float* const filter = as_float32(op, r.filter, weights, r.dtype, *memory_, filter_copy);
  const float* const bias =
      r.bias != nullptr ? as_float32(op, r.bias, r.filters, r.dtype, *memory_, bias_copy) : nullptr;
  if (takes_channels(r)) return convolve_channels(op, r, filter, bias, *memory_);
  if (takes_planes(r)) return convolve_planes(op, r, filter, bias, *memory_);
  r.dtype == DType::float16 ? forward<Half>(r, filter, bias, *memory_)
                            : forward<float>(r, filter, bias, *memory_);
}

}  // namespace tilewright::cpu
