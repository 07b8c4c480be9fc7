#include <algorithm>
#include <array>
#include <numeric>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

// The gradient of an input as a plain product, image by image, of the filter turned and of the
// output's gradient: a line for each channel and tap, which are then folded into the image. A
// single tap without strides and padding makes the image itself.
namespace tilewright::gpu {

namespace {

/// Of the lines that are laid out at a time.
constexpr std::uint64_t most_lines_bytes = std::uint64_t{256} << 20;
constexpr Size most_side = 11;  ///< of a filter
constexpr Size least_filters = 16, least_taps = 16;

Size count(Size size, Size of) { return (size + of - 1) / of; }

/// Microseconds of the kernels that go over channels and taps as they meet.
double standing_cost(const Conv2dRequest& r, Size units) {
  const Size phases = r.stride[0] * r.stride[1];
  const Size columns = count(r.batch * r.height * r.width, phases);
  const double depth = static_cast<double>(r.filters * r.filter_height * r.filter_width) /
                       static_cast<double>(phases);
  const double outputs = static_cast<double>(columns * phases);
  if (r.channels < least_tile_rows) {
    return slower(units) * 2 * static_cast<double>(r.channels) * depth * outputs / 5e6;
  }
  const ConvTile& tile = conv_tile(r.channels, columns, phases, units);
  const Size rows = count(r.channels, tile.bm) * tile.bm;
  const double speed = tile.bm == 32 ? 17e6 : tile.bm == 64 ? 20e6 : 25e6;
  const Size tiles = rows / tile.bm * count(columns, tile.bn) * phases;
  const double idle = std::max(1.0, static_cast<double>(units) / static_cast<double>(tiles));
  return slower(units) * idle * 2 * static_cast<double>(rows) * depth * outputs / speed;
}

}  // namespace

bool GpuBackend::conv_fold(std::string_view op, const Conv2dRequest& r) {
  const DeviceLimits& limits = device_->limits();
  const Size taps = r.channels * r.filter_height * r.filter_width;
  const Size positions = r.out_height * r.out_width, image = r.channels * r.height * r.width;
  if (!limits.compiles_templates || r.groups != 1 || r.filter_height > most_side ||
      r.filter_width > most_side || r.filters < least_filters || taps < least_taps ||
      r.batch * positions * image == 0) {
    return false;
  }
  const Size units = limits.planned_units;
  const auto line_bytes = static_cast<double>(bytes_of(r.batch * taps * positions, DType::float32));
  constexpr double bytes_per_microsecond = 2.5e6, launch = 5, odd = 1.15;
  const double product = product_cost(
      {taps, positions, r.filters, r.batch, r.dtype == DType::float16, positions % 4 == 0, units},
      limits);
  const bool direct =
      r.filter_height * r.filter_width == 1 && r.stride == Pair{1, 1} && r.pad == Pair{0, 0};
  const double folding =
      direct ? 0 : launch + slower(units) * 2 * line_bytes / bytes_per_microsecond;
  if (odd * product + folding > 0.85 * standing_cost(r, units)) return false;
  const Size next = r.batch > 1 ? r.filters * positions : 0;
  const Size next_image = r.batch > 1 ? image : 0;
  if (direct) {
    launch_gemm({op,       true, false,      taps,      positions, r.filters, 1.0f,
                 r.filter, taps, r.output,   positions, 0.0f,      r.input,   positions,
                 0,        next, next_image, r.batch,   r.dtype,   r.dtype,   std::nullopt});
    return true;
  }

  // Images at a time, from where bindings may start.
  constexpr Size apart = 128;
  const Size unit = apart / std::gcd(r.filters * positions, apart);
  const std::uint64_t room =
      std::min({most_lines_bytes, scratch_limit() / 2, limits.max_binding_bytes});
  const auto fitting = static_cast<Size>(room / bytes_of(taps * positions, DType::float32));
  const Size at_once = fitting >= r.batch ? r.batch : fitting / unit * unit;
  if (at_once == 0) return false;
  const AllocationRef lines =
      memory_->try_scratch(op, bytes_of(at_once * taps * positions, DType::float32));
  if (!lines) return false;
  const Binding gradient = bind(op, r.input, bytes_of(r.batch * image, r.dtype));
  for (Size first = 0; first < r.batch; first += at_once) {
    const Size some = std::min(at_once, r.batch - first);
    BufferRange from = r.output, to = lines;
    from.offset += bytes_of(first * r.filters * positions, r.dtype);
    from.bytes = bytes_of(some * r.filters * positions, r.dtype);
    to.bytes = bytes_of(some * taps * positions, DType::float32);
    const Size next_lines = some > 1 ? taps * positions : 0;
    launch_gemm({op,          true,      false,     taps,
                 positions,   r.filters, 1.0f,      r.filter,
                 taps,        from,      positions, 0.0f,
                 to,          positions, 0,         some > 1 ? next : 0,
                 next_lines,  some,      r.dtype,   DType::float32,
                 std::nullopt});
    const struct {
      std::uint32_t n, first, height, width, out_height, out_width, stride_h, stride_w, pad_h,
          pad_w, dilation_h, dilation_w;
    } params{u32(some * image), u32(first * image), u32(r.height),      u32(r.width),
             u32(r.out_height), u32(r.out_width),   u32(r.stride[0]),   u32(r.stride[1]),
             u32(r.pad[0]),     u32(r.pad[1]),      u32(r.dilation[0]), u32(r.dilation[1])};
    const std::array<Binding, 2> bindings{bind(op, lines, to.bytes), gradient};
    const std::uint32_t variant =
        u32((r.filter_height * 16 + r.filter_width) * 2) | half_bit(r.dtype);
    run(KernelId::conv2d_fold, variant, params, bindings,
        cover(static_cast<std::uint64_t>(params.n), group_size), [&](TemplateVariables& v) {
          set_common(v, r.dtype);
          v["HEIGHT"] = r.filter_height;
          v["WIDTH"] = r.filter_width;
        });
  }
  return true;
}

}  // namespace tilewright::gpu
