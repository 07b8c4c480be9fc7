#include <algorithm>
#include <array>
#include <numeric>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

// The gradient of a filter as a plain product: what the taps meet is laid out in memory, position
// by position, and so is the gradient of the output.
namespace tilewright::gpu {

namespace {

/// Of the lines that are laid out at a time.
constexpr std::uint64_t most_lines_bytes = std::uint64_t{256} << 20;
constexpr Size least_filters = 16, least_taps = 16, least_positions = 512;
/// Tiles of products that fill the measured GPU, their side, and positions that make a piece.
constexpr Size enough_tiles = 264, side = 64, least_piece = 512, step = 64;

/// Floats between places where bindings may start.
constexpr Size lines_apart = 64;

Size count(Size size, Size of) { return (size + of - 1) / of; }

}  // namespace

bool GpuBackend::conv_columns(std::string_view op, const Conv2dRequest& r) {
  const Size taps = r.channels * r.filter_height * r.filter_width;
  const Size positions = r.batch * r.out_height * r.out_width;
  if (r.groups != 1 || r.filters < least_filters || taps < least_taps ||
      positions < least_positions) {
    return false;
  }
  const DeviceLimits& limits = device_->limits();
  // Matrix units multiply what is float16.
  const bool has_units = limits.matrix_lanes > 0 || limits.block_lanes > 0;
  const DType lines_dtype = has_units ? r.dtype : DType::float32;
  const std::uint64_t room =
      std::min({most_lines_bytes, scratch_limit() / 2, limits.max_binding_bytes});
  const auto line_bytes = [&](Size places) {
    return bytes_of(std::max(taps, r.filters) * places, lines_dtype);
  };
  if (room < line_bytes(least_piece)) return false;
  const Size elements = r.filters * taps;
  // Where there are several rounds, the results of each start where bindings may.
  const Size unit = lines_apart / std::gcd(elements, lines_apart);
  const Size rounds = count(positions, static_cast<Size>(room / line_bytes(step)) * step);
  const Size least = rounds == 1 || unit == 1 ? rounds : (rounds + 1) * unit;
  // Pieces of the positions are products of their own, since their results are small and few.
  const Size tiles = count(r.filters, side) * count(taps, side);
  const Size enough = filling(enough_tiles, limits.planned_units);
  const Size wanted = std::clamp<Size>(std::max(enough / tiles, least), 1, positions / least_piece);
  const Size piece = count(count(positions, wanted), step) * step;
  const Size pieces = count(positions, piece);
  const Size at_once = static_cast<Size>(room / line_bytes(piece));
  const Size now = at_once >= pieces ? pieces : at_once / unit * unit;
  if (now == 0) return false;
  const auto scratch = [&](Size places, DType dtype) {
    return memory_->try_scratch(op, bytes_of(places, dtype));
  };
  const AllocationRef met = scratch(taps * piece * now, lines_dtype);
  const AllocationRef grads = scratch(r.filters * piece * now, lines_dtype);
  const bool direct = pieces == 1 && r.dtype == DType::float32;
  AllocationRef parts;
  if (!direct) parts = scratch(elements * pieces, DType::float32);
  if (!met || !grads || (!direct && !parts)) return false;

  const Binding input =
      bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype));
  const Binding output = bind(op, r.output, bytes_of(r.filters * positions, r.dtype));
  for (Size first = 0; first < pieces; first += now) {
    const Size some = std::min(now, pieces - first), wide = some * piece;
    const auto lay_out = [&](const Binding& from, const AllocationRef& to, Size channels,
                             Size height, Size width, bool is_grad) {
      const Size lines = is_grad ? channels : taps;
      const struct {
        std::uint32_t n, fours, first, positions, channels, height, width, filter_height,
            filter_width, out_height, out_width, stride_h, stride_w, pad_h, pad_w, dilation_h,
            dilation_w;
      } params{u32(lines * wide / 4),
               u32(wide / 4),
               u32(first * piece),
               u32(positions),
               u32(channels),
               u32(height),
               u32(width),
               u32(is_grad ? 1 : r.filter_height),
               u32(is_grad ? 1 : r.filter_width),
               u32(r.out_height),
               u32(r.out_width),
               u32(is_grad ? 1 : r.stride[0]),
               u32(is_grad ? 1 : r.stride[1]),
               u32(is_grad ? 0 : r.pad[0]),
               u32(is_grad ? 0 : r.pad[1]),
               u32(is_grad ? 1 : r.dilation[0]),
               u32(is_grad ? 1 : r.dilation[1])};
      const std::array<Binding, 2> bindings{from,
                                            bind(op, to, bytes_of(lines * wide, lines_dtype))};
      run(KernelId::conv2d_columns, half_bit(r.dtype) + 2 * half_bit(lines_dtype), params, bindings,
          cover(static_cast<std::uint64_t>(params.n), group_size), [&](TemplateVariables& v) {
            set_common(v, r.dtype);
            v["TO"] = type_name(lines_dtype);
          });
    };
    lay_out(input, met, r.channels, r.height, r.width, false);
    lay_out(output, grads, r.filters, r.out_height, r.out_width, true);
    BufferRange to = r.filter;
    if (!direct) {
      to = parts;
      to.offset += bytes_of(first * elements, DType::float32);
      to.bytes = bytes_of(some * elements, DType::float32);
    }
    launch_gemm({op,       false, true,        r.filters,      taps,        piece, 1.0f,  grads,
                 wide,     met,   wide,        0.0f,           to,          taps,  piece, piece,
                 elements, some,  lines_dtype, DType::float32, std::nullopt});
  }
  if (!direct) {
    BufferRange all = parts;
    reduce(op, ReduceOp::sum, all, DType::float32, r.filter, r.dtype, {1, pieces, elements});
  }
  return true;
}

}  // namespace tilewright::gpu
