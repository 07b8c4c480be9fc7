#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/convolution.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_conv2d_forward(const Conv2dRequest& r) {
  constexpr std::string_view op = "conv2d_forward";
  require(op, r.dtype);
  if (r.addend != nullptr) {
    Conv2dRequest sums = r;
    sums.addend = {};
    sums.activation = Activation::none;
    sums.slope = 0;
    launch_conv2d_forward(sums);
    return conv_addend(r);
  }
  if (takes_meetings(r, walked_pairs(r, r.out_height * r.out_width))) {
    return conv_meetings(op, sums_of(r));
  }
  const std::size_t choice = conv_choice(r);
  if (choice == winograd_choice && conv_winograd(op, r)) return;
  if (choice >= first_matrix_choice && conv_matrix(op, r, choice - first_matrix_choice)) return;
  if (takes_taps(r.filters / r.groups, r.channels / r.groups) && conv_taps(op, r, false)) return;
  if (takes_spots(r, false, device_->limits().planned_units) && conv_spots(op, r, false)) return;
  const Size taps = r.channels / r.groups * r.filter_height * r.filter_width;
  const Size positions = r.batch * r.out_height * r.out_width;
  ConvProduct p{op,
                KernelId::conv2d_forward,
                r.filters / r.groups,
                positions,
                taps,
                {r.out_height, r.out_width},
                {r.filter_height, r.filter_width},
                false,
                1,
                taps,
                r.dtype,
                {bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype)),
                 bind(op, r.filter, bytes_of(r.filters * taps, r.dtype)),
                 bind(op, r.output, bytes_of(r.filters * positions, r.dtype))}};
  if (r.bias) p.bindings.push_back(bind(op, r.bias, bytes_of(r.filters, r.dtype)));
  conv_product(r, p);
}

void GpuBackend::conv_addend(const Conv2dRequest& r) {
  const auto variant = static_cast<std::uint32_t>(r.activation) * 2 + half_bit(r.dtype);
  for_windows(r.batch * r.filters * r.out_height * r.out_width, r.dtype,
              [&](std::uint64_t offset, Size n) {
                const struct {
                  std::uint32_t n;
                  float slope;
                  std::uint32_t zero;
                } params{u32(n), r.slope, 0};
                const std::array bindings{window(r.addend, offset), window(r.output, offset)};
                run(KernelId::conv2d_addend, variant, params, bindings,
                    cover(static_cast<std::uint64_t>(n), group_size), [&](TemplateVariables& v) {
                      set_common(v, r.dtype);
                      v["ACTIVATION"] = std::string(to_string(r.activation));
                    });
              });
}

}  // namespace tilewright::gpu
