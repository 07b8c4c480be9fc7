#include "core/convolution.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_conv2d_backward_data(const Conv2dRequest& r) {
  constexpr std::string_view op = "conv2d_backward_data";
  require(op, r.dtype);
  if (takes_meetings(r, walked_pairs(r, r.height * r.width))) {
    return conv_meetings(op, sums_of(r));
  }
  const std::size_t choice = conv_choice(r);
  if (choice >= first_matrix_choice && conv_matrix(op, r, choice - first_matrix_choice)) return;
  if (conv_fold(op, r)) return;
  const bool one_phase = r.stride == Pair{1, 1};
  if (one_phase && takes_taps(r.channels / r.groups, r.filters / r.groups) &&
      conv_taps(op, r, true)) {
    return;
  }
  if (takes_spots(r, true, device_->limits().planned_units) && conv_spots(op, r, true)) return;
  if (takes_taps(r.channels / r.groups, r.filters / r.groups) && conv_taps(op, r, true)) return;
  const Size window = r.filter_height * r.filter_width;
  const Size pixels = r.batch * r.height * r.width;
  const Size taps = r.filters / r.groups * window;
  const ConvProduct p{
      op,
      KernelId::conv2d_backward_data,
      r.channels / r.groups,
      pixels,
      taps,
      {r.height, r.width},
      {r.filter_height, r.filter_width},
      false,
      1,
      taps,
      r.dtype,
      {bind(op, r.output, bytes_of(r.batch * r.filters * r.out_height * r.out_width, r.dtype)),
       bind(op, r.filter, bytes_of(r.channels * taps, r.dtype)),
       bind(op, r.input, bytes_of(r.channels * pixels, r.dtype))}};
  conv_product(r, p);
}

}  // namespace tilewright::gpu
