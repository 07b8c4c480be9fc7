#include <algorithm>
#include <array>
#include <numeric>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

// The gradient of a filter as a plain product: what the taps meet is laid out in memory, position
// by position, and so is the gradient of the output. Where filters are fewer than channels and
// there are no strides, taps are the gradient's, from the last to the first, at positions of the
// input.
namespace tilewright::gpu {

namespace {

/// Of the lines that are laid out at a time.
constexpr std::uint64_t most_lines_bytes = std::uint64_t{256} << 20;
constexpr Size least_rows = 16, least_lines = 16, least_positions = 512;
/// Tiles of products that fill the measured GPU, their side, and positions that make a piece.
constexpr Size enough_tiles = 264, side = 64, least_piece = 512, step = 64;

/// Floats between places where bindings may start.
constexpr Size lines_apart = 64;

/// Pieces of turned results that are summed by what turns them.
constexpr Size few_pieces = 4;

Size count(Size size, Size of) { return (size + of - 1) / of; }

/// A tensor of images, as lines of what each tap of a window meets.
struct Met {
  Size channels, height, width;
  Pair window, stride, pad, dilation;

  Size lines() const { return channels * window[0] * window[1]; }
};
/// An operand's lines without taps.
Met plain(Size channels, Size height, Size width) {
  return {channels, height, width, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
}

/// The product that a gradient is.
struct Laid {
  bool turned;  ///< taps are those of the output's gradient
  Met rows, met;
  Pair places;  ///< of an image

  Size positions(const Conv2dRequest& r) const { return r.batch * places[0] * places[1]; }
  /// Microseconds, nearly.
  double cost(const Conv2dRequest& r) const {
    const Size tiles = count(rows.lines(), side) * count(met.lines(), side) * side * side;
    return static_cast<double>(positions(r)) *
           (2 * static_cast<double>(tiles) / 25e6 +
            8 * static_cast<double>(rows.lines() + met.lines()) / 2.5e6);
  }
};

Laid laid(const Conv2dRequest& r) {
  const Pair window{r.filter_height, r.filter_width};
  const Met input = plain(r.channels, r.height, r.width);
  const Met output = plain(r.filters, r.out_height, r.out_width);
  Laid straight{false, output, input, {r.out_height, r.out_width}};
  straight.met.window = window;
  straight.met.stride = r.stride;
  straight.met.pad = r.pad;
  straight.met.dilation = r.dilation;
  if (r.stride != Pair{1, 1}) return straight;
  Laid turned{true, input, output, {r.height, r.width}};
  turned.met.window = window;
  turned.met.dilation = r.dilation;
  for (const std::size_t d : {0, 1}) {
    turned.met.pad[d] = (window[d] - 1) * r.dilation[d] - r.pad[d];
  }
  return turned.cost(r) < straight.cost(r) ? turned : straight;
}

}  // namespace

bool GpuBackend::conv_columns(std::string_view op, const Conv2dRequest& r) {
  const Laid all = laid(r);
  const Size lines = all.met.lines(), rows = all.rows.lines();
  const Size positions = all.positions(r);
  if (r.groups != 1 || rows < least_rows || lines < least_lines || positions < least_positions) {
    return false;
  }
  const DeviceLimits& limits = device_->limits();
  // Matrix units multiply what is float16.
  const bool has_units = limits.matrix_lanes > 0 || limits.block_lanes > 0;
  const DType lines_dtype = has_units ? r.dtype : DType::float32;
  const std::uint64_t room =
      std::min({most_lines_bytes, scratch_limit() / 2, limits.max_binding_bytes});
  const auto line_bytes = [&](Size places) {
    return bytes_of(std::max(lines, rows) * places, lines_dtype);
  };
  if (room < line_bytes(least_piece)) return false;
  const Size elements = rows * lines;
  // Where there are several rounds, the results of each start where bindings may.
  const Size unit = lines_apart / std::gcd(elements, lines_apart);
  const Size rounds = count(positions, static_cast<Size>(room / line_bytes(step)) * step);
  const Size least = rounds == 1 || unit == 1 ? rounds : (rounds + 1) * unit;
  // Pieces of the positions are products of their own, since their results are small and few.
  const Size tiles = count(rows, side) * count(lines, side);
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
  const AllocationRef met = scratch(lines * piece * now, lines_dtype);
  const AllocationRef others = scratch(rows * piece * now, lines_dtype);
  const bool direct = pieces == 1 && r.dtype == DType::float32 && !all.turned;
  AllocationRef parts, sums;
  if (!direct) parts = scratch(elements * pieces, DType::float32);
  const bool sums_first = all.turned && pieces > few_pieces;
  if (sums_first) sums = scratch(elements, DType::float32);
  if (!met || !others || (!direct && !parts) || (sums_first && !sums)) return false;

  const Binding input =
      bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype));
  const Binding output =
      bind(op, r.output, bytes_of(r.batch * r.filters * r.out_height * r.out_width, r.dtype));
  for (Size first = 0; first < pieces; first += now) {
    const Size some = std::min(now, pieces - first), wide = some * piece;
    const auto lay_out = [&](const Binding& from, const AllocationRef& to, const Met& of) {
      const struct {
        std::uint32_t n, fours, first, positions, channels, height, width, filter_height,
            filter_width, out_height, out_width, stride_h, stride_w, pad_h, pad_w, dilation_h,
            dilation_w;
      } params{u32(of.lines() * wide / 4), u32(wide / 4), u32(first * piece), u32(positions),
               u32(of.channels), u32(of.height), u32(of.width), u32(of.window[0]),
               u32(of.window[1]), u32(all.places[0]), u32(all.places[1]), u32(of.stride[0]),
               u32(of.stride[1]),
               // One that is less than 0 wraps around, as the kernel's sums do.
               static_cast<std::uint32_t>(of.pad[0]), static_cast<std::uint32_t>(of.pad[1]),
               u32(of.dilation[0]), u32(of.dilation[1])};
      const std::array<Binding, 2> bindings{from,
                                            bind(op, to, bytes_of(of.lines() * wide, lines_dtype))};
      run(KernelId::conv2d_columns, half_bit(r.dtype) + 2 * half_bit(lines_dtype), params, bindings,
          cover(static_cast<std::uint64_t>(params.n), group_size), [&](TemplateVariables& v) {
            set_common(v, r.dtype);
            v["TO"] = type_name(lines_dtype);
          });
    };
    lay_out(all.turned ? output : input, met, all.met);
    lay_out(all.turned ? input : output, others, all.rows);
    BufferRange to = r.filter;
    if (!direct) {
      to = parts;
      to.offset += bytes_of(first * elements, DType::float32);
      to.bytes = bytes_of(some * elements, DType::float32);
    }
    launch_gemm({op,       false, true,        rows,           lines,       piece, 1.0f,  others,
                 wide,     met,   wide,        0.0f,           to,          lines, piece, piece,
                 elements, some,  lines_dtype, DType::float32, std::nullopt});
  }
  if (direct) return true;
  BufferRange found = parts;
  if (!all.turned) {
    reduce(op, ReduceOp::sum, found, DType::float32, r.filter, r.dtype, {1, pieces, elements});
    return true;
  }
  if (sums_first) {
    const BufferRange to = sums;
    reduce(op, ReduceOp::sum, found, DType::float32, to, DType::float32, {1, pieces, elements});
    found = to;
  }
  const struct {
    std::uint32_t n, pieces, filters, channels, taps;
  } params{u32(elements), u32(sums_first ? 1 : pieces), u32(r.filters), u32(r.channels),
           u32(r.filter_height * r.filter_width)};
  const std::array<Binding, 2> bindings{
      bind(op, found, bytes_of(elements * params.pieces, DType::float32)),
      bind(op, r.filter, bytes_of(elements, r.dtype))};
  run(KernelId::conv2d_turned, half_bit(r.dtype), params, bindings,
      cover(static_cast<std::uint64_t>(elements), group_size),
      [&](TemplateVariables& v) { set_common(v, r.dtype); });
  return true;
}

}  // namespace tilewright::gpu
