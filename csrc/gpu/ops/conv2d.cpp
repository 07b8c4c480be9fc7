#include "gpu/ops/conv2d.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// From small to large; a large one needs enough tiles to fill the GPU, as so many do the measured
/// one.
constexpr ConvTile tiles[] = {{32, 64, 4, 4}, {64, 64, 4, 4}, {64, 128, 8, 4}, {128, 128, 8, 8}};
constexpr Size enough_tiles = 120;

Size count(Size size, Size tile) { return (size + tile - 1) / tile; }

/// Enough outputs to fill the measured GPU with a work-item each.
constexpr Size enough_outputs = 1 << 16;
constexpr Size least_depth_of_lane = 32;
/// Positions of few rows from which on a work-item each is quicker than several for each output.
constexpr Size enough_positions = 1 << 12;

/// Work-items for each output where there is no tile. One lets neighbours read neighbours, unless
/// these lie along the depth.
Size lanes_for(const ConvProduct& p, Size copies, Size units) {
  if (!p.b_along_depth && p.rows * p.columns * copies >= filling(enough_outputs, units)) return 1;
  const Size lanes = std::clamp<Size>(p.piece / least_depth_of_lane, 1, group_size);
  return static_cast<Size>(std::bit_floor(static_cast<std::size_t>(lanes)));
}

}  // namespace

const ConvTile& conv_tile(Size rows, Size columns, Size copies, Size units) {
  const ConvTile* chosen = tiles;
  for (const ConvTile& tile : std::span(tiles).subspan(1)) {
    const bool fits = rows * 4 >= tile.bm * 3;
    if (fits &&
        count(rows, tile.bm) * count(columns, tile.bn) * copies >= filling(enough_tiles, units)) {
      chosen = &tile;
    }
  }
  return *chosen;
}

bool takes_spots(const Conv2dRequest& r, bool backward, Size units) {
  const Size rows = (backward ? r.channels : r.filters) / r.groups;
  const Size deep = (backward ? r.filters : r.channels) / r.groups;
  const Size plane = backward ? r.height * r.width : r.out_height * r.out_width;
  const Size depth = deep * r.filter_height * r.filter_width;
  return rows >= least_tile_rows || depth < 2 * least_depth_of_lane ||
         r.groups * r.batch * plane >= filling(enough_positions, units);
}

void GpuBackend::conv_product(const Conv2dRequest& r, const ConvProduct& p) {
  const bool direct = p.rows < least_tile_rows;
  const Size copies = r.groups * p.pieces;
  const Size units = device_->limits().planned_units;
  const ConvTile& tile = direct ? tiles[0] : conv_tile(p.rows, p.columns, copies, units);
  const Size lanes = direct ? lanes_for(p, copies, units) : 1;
  const bool bias = r.bias != nullptr;
  const std::uint32_t variant =
      (((direct ? 16 + static_cast<std::uint32_t>(std::bit_width(static_cast<std::size_t>(lanes)))
                : place_of(tile)) *
            2 +
        (bias ? 1 : 0)) *
           2 +
       half_bit(r.dtype)) *
          32 +
      static_cast<std::uint32_t>(r.activation) * 2 + half_bit(p.output_dtype);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["TO"] = type_name(p.output_dtype);
    v["DIRECT"] = std::int64_t{direct};
    v["LANES"] = std::int64_t{lanes};
    v["B_DEEP"] = std::int64_t{p.b_along_depth};
    v["BIAS"] = std::int64_t{bias};
    if (r.op == ConvOp::forward) v["ACTIVATION"] = std::string(to_string(r.activation));
    v["BM"] = std::int64_t{tile.bm};
    v["BN"] = std::int64_t{tile.bn};
    v["BK"] = std::int64_t{depth_step};
    v["TM"] = std::int64_t{tile.tm};
    v["TN"] = std::int64_t{tile.tn};
  };
  const Size tiles_n = count(p.columns, tile.bn);
  struct {
    std::uint32_t m, n, k, pieces, piece, tiles_n, first, col_y, col_z, deep_y, deep_z, filters,
        channels, groups, height, width, filter_height, filter_width, out_height, out_width,
        stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    float slope;
    std::uint32_t zero;
  } params{u32(p.rows),
           u32(p.columns),
           u32(p.depth),
           u32(p.pieces),
           u32(p.piece),
           u32(tiles_n),
           0,
           u32(p.column_digits[0]),
           u32(p.column_digits[1]),
           u32(p.depth_digits[0]),
           u32(p.depth_digits[1]),
           u32(r.filters / r.groups),
           u32(r.channels / r.groups),
           u32(r.groups),
           u32(r.height),
           u32(r.width),
           u32(r.filter_height),
           u32(r.filter_width),
           u32(r.out_height),
           u32(r.out_width),
           u32(r.stride[0]),
           u32(r.stride[1]),
           u32(r.pad[0]),
           u32(r.pad[1]),
           u32(r.dilation[0]),
           u32(r.dilation[1]),
           r.slope,
           0};
  const Size outputs = p.rows * p.columns;
  auto grid = direct ? cover(static_cast<std::uint64_t>(outputs), group_size / lanes)
                     : cover(static_cast<std::uint64_t>(count(p.rows, tile.bm) * tiles_n), 1);
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < copies; first += most) {
    params.first = u32(first);
    grid[2] = u32(std::min(most, copies - first));
    run(p.kernel, variant, params, p.bindings, grid, fill);
  }
}

}  // namespace tilewright::gpu
