#include <algorithm>

#include "core/convolution.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// So many outputs of work-items, or tiles, fill the measured GPU; fewer share the depth out, in
/// pieces of at least so much.
constexpr Size enough_outputs = 1 << 20, enough_tiles = 264;
constexpr Size least_piece = 32 * depth_step;

Size count(Size size, Size of) { return (size + of - 1) / of; }

}  // namespace

void GpuBackend::launch_conv2d_backward_filter(const Conv2dRequest& r) {
  constexpr std::string_view op = "conv2d_backward_filter";
  require(op, r.dtype);
  if (takes_meetings(r, walked_pairs(r, r.out_height * r.out_width))) {
    return conv_meetings(op, sums_of(r));
  }
  if (conv_columns(op, r)) return;
  const Size taps = r.channels / r.groups * r.filter_height * r.filter_width;
  const Size positions = r.batch * r.out_height * r.out_width;
  const Size elements = r.filters * taps;
  const Size units = device_->limits().planned_units, rows = r.filters / r.groups;
  Size enough = filling(enough_outputs, units) / elements;
  if (rows >= least_tile_rows) {
    const ConvTile& tile = conv_tile(rows, taps, positions, units);
    const Size tiles = count(rows, tile.bm) * count(taps, tile.bn) * r.groups;
    enough = count(filling(enough_tiles, units), tiles);
  }
  const Size wanted =
      affordable(std::clamp<Size>(enough, 1, std::max<Size>(positions / least_piece, 1)),
                 bytes_of(elements, DType::float32));
  const auto piece_of = [&](Size parts) {
    const Size steps = (positions + parts * depth_step - 1) / (parts * depth_step);
    return std::max<Size>(steps, 1) * depth_step;
  };
  Size piece = piece_of(wanted);
  Size pieces = std::max<Size>((positions + piece - 1) / piece, 1);
  BufferRange result;
  if (pieces > 1) result = memory_->try_scratch(op, bytes_of(elements * pieces, DType::float32));
  if (!result) {
    result = r.filter;
    piece = piece_of(1);
    pieces = 1;
  }
  const DType to = pieces == 1 ? r.dtype : DType::float32;
  const ConvProduct p{
      op,
      KernelId::conv2d_backward_filter,
      r.filters / r.groups,
      taps,
      positions,
      {r.filter_height, r.filter_width},
      {r.out_height, r.out_width},
      true,
      pieces,
      piece,
      to,
      {bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype)),
       bind(op, r.output, bytes_of(r.filters * positions, r.dtype)),
       bind(op, result, bytes_of(elements * pieces, to))}};
  conv_product(r, p);
  if (pieces > 1) reduce(op, ReduceOp::sum, result, to, r.filter, r.dtype, {1, pieces, elements});
}

}  // namespace tilewright::gpu
