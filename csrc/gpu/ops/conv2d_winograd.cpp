#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

// F(2x2, 3x3): 16 products for 4 outputs, where the sum over the windows takes 36.
constexpr Size factors = 16;

Size count(Size size, Size part) { return (size + part - 1) / part; }

/// Rows and columns of the products are whole vec4.
Size whole(Size size) { return count(size, 4) * 4; }

/// What is kept of a piece of the tiles between the kernels, at most; the pool of buffers keeps it
/// for the next call.
constexpr std::uint64_t most_scratch = 160 << 20;

/// Fewer make sums of few terms, in which the rounding of sums of pixels and taps would show.
constexpr Size least_channels = 32;

Size tiles_of(const Conv2dRequest& r) {
  return r.batch * count(r.out_height, 2) * count(r.out_width, 2);
}

}  // namespace

bool GpuBackend::can_winograd(const Conv2dRequest& r) const {
  const Pair one{1, 1};
  const bool same_window = r.filter_height == 3 && r.filter_width == 3 && r.stride == one &&
                           r.dilation == one && r.groups == 1;
  if (!same_window || r.channels < least_channels || r.filters == 0 || tiles_of(r) == 0)
    return false;
  const std::uint64_t most_filter = std::min(most_scratch / 2, device_->limits().max_binding_bytes);
  return bytes_of(factors * r.channels * whole(r.filters), DType::float32) <= most_filter &&
         winograd_columns(r) != 0;
}

double GpuBackend::winograd_cost(const Conv2dRequest& r) const {
  const Size units = device_->limits().planned_units;
  const auto channels = static_cast<double>(r.channels);
  const auto filters = static_cast<double>(r.filters);
  const auto tiles = static_cast<double>(tiles_of(r));
  const double transformed = 4.0 * (2 * factors + 4) * (filters + channels) * tiles;
  const double busy = 2.0 * factors * filters * channels * tiles / 36e6 + transformed / 5e6 +
                      filters * channels / 6.5e3;
  return slower(units) * busy + 15 * static_cast<double>(count(tiles_of(r), winograd_columns(r)));
}

Size GpuBackend::winograd_columns(const Conv2dRequest& r) const {
  const DeviceLimits& limits = device_->limits();
  const auto column = [](Size lines) {
    return static_cast<std::uint64_t>(factors * lines) * sizeof(float);
  };
  const std::uint64_t scratch = std::min(most_scratch, scratch_limit());
  const Size rows = whole(r.filters);
  const std::uint64_t most = std::min(scratch / column(rows + r.channels),
                                      std::min(limits.max_binding_bytes, limits.max_buffer_bytes) /
                                          column(std::max(rows, r.channels)));
  const Size vectors = static_cast<Size>(most / 4);
  if (vectors == 0) return 0;
  const Size pieces = count(count(tiles_of(r), 4), vectors);
  return whole(count(tiles_of(r), pieces));
}

bool GpuBackend::conv_winograd(std::string_view op, const Conv2dRequest& r) {
  const Size rows = whole(r.filters);
  const Size columns = winograd_columns(r);
  const Size tiles = tiles_of(r);
  const auto scratch = [&](Size elements) {
    return memory_->try_scratch(op, bytes_of(elements, DType::float32));
  };
  const AllocationRef filter_factors = scratch(factors * r.channels * rows);
  const AllocationRef input_factors = scratch(factors * r.channels * columns);
  const AllocationRef products = scratch(factors * rows * columns);
  if (!filter_factors || !input_factors || !products) return false;
  const auto whole_of = [&](const AllocationRef& a) { return bind(op, a, a->bytes()); };

  const Binding filter = bind(op, r.filter, bytes_of(r.filters * r.channels * 9, r.dtype));
  const Binding input =
      bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype));
  const Binding output =
      bind(op, r.output, bytes_of(r.batch * r.filters * r.out_height * r.out_width, r.dtype));
  std::vector<Binding> to_output{whole_of(products), input, filter, output};
  if (r.bias) to_output.push_back(bind(op, r.bias, bytes_of(r.filters, r.dtype)));
  const std::array<Binding, 2> to_filter_factors{filter, whole_of(filter_factors)};
  const std::array<Binding, 2> to_input_factors{input, whole_of(input_factors)};

  const auto set = [&](TemplateVariables& v) { set_common(v, r.dtype); };
  const struct {
    std::uint32_t items, filters, rows, channels;
  } filter_params{u32(r.channels * rows), u32(r.filters), u32(rows), u32(r.channels)};
  run(KernelId::conv2d_winograd_filter, half_bit(r.dtype), filter_params, to_filter_factors,
      cover(filter_params.items, group_size), set);

  const bool bias = r.bias != nullptr;
  const bool pairs = r.out_width % 2 == 0;
  const std::uint32_t output_variant = static_cast<std::uint32_t>(r.activation) * 8 +
                                       half_bit(r.dtype) * 4 + (bias ? 2 : 0) + (pairs ? 1 : 0);
  for (Size first = 0; first < tiles; first += columns) {
    const Size now = std::min(columns, whole(tiles - first));
    const struct {
      std::uint32_t items, columns, first, tiles_h, tiles_w, batch, channels, height, width, pad_h,
          pad_w;
    } input_params{u32(r.channels * now),
                   u32(now),
                   u32(first),
                   u32(count(r.out_height, 2)),
                   u32(count(r.out_width, 2)),
                   u32(r.batch),
                   u32(r.channels),
                   u32(r.height),
                   u32(r.width),
                   u32(r.pad[0]),
                   u32(r.pad[1])};
    run(KernelId::conv2d_winograd_input, half_bit(r.dtype), input_params, to_input_factors,
        cover(input_params.items, group_size), set);
    launch_gemm({op,
                 true,
                 false,
                 rows,
                 now,
                 r.channels,
                 1.0f,
                 filter_factors,
                 rows,
                 input_factors,
                 now,
                 0.0f,
                 products,
                 now,
                 r.channels * rows,
                 r.channels * now,
                 rows * now,
                 factors,
                 DType::float32,
                 DType::float32,
                 std::nullopt});
    const struct {
      std::uint32_t items, columns, planes, first, tiles_h, tiles_w, batch, channels, filters,
          height, width, pad_h, pad_w, out_height, out_width;
      float slope;
      std::uint32_t zero;
    } output_params{u32(r.filters * now),
                    u32(now),
                    u32(rows * now),
                    u32(first),
                    input_params.tiles_h,
                    input_params.tiles_w,
                    u32(r.batch),
                    u32(r.channels),
                    u32(r.filters),
                    u32(r.height),
                    u32(r.width),
                    u32(r.pad[0]),
                    u32(r.pad[1]),
                    u32(r.out_height),
                    u32(r.out_width),
                    r.slope,
                    0};
    run(KernelId::conv2d_winograd_output, output_variant, output_params, to_output,
        cover(output_params.items, group_size), [&](TemplateVariables& v) {
          set_common(v, r.dtype);
          v["BIAS"] = std::int64_t{bias};
          v["PAIRS"] = std::int64_t{pairs};
          v["ACTIVATION"] = std::string(to_string(r.activation));
        });
  }
  return true;
}

}  // namespace tilewright::gpu
