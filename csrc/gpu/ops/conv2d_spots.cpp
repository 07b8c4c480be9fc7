#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

// Convolutions and the gradients of their inputs by a table of where each tap reads, which is the
// same for all positions of a phase: those that lie a stride apart, which read through the same
// taps.
namespace tilewright::gpu {

namespace {

constexpr Size most_spots = 2048, most_phases = 64;
/// Channels that are written by the kernel for few, and what its work-items hold at most.
constexpr Size most_sums = 16, most_places = 4;
/// Channels that are read which are gone through tap by tap, so many at a time.
constexpr Size least_deep = 8, deep_step = 4;
/// Bytes of workgroup memory that let two workgroups run at a time on a processor of the measured
/// GPU, which is worth more than a second step of tiles there.
constexpr Size shared_memory = 24 << 10;
/// Taps that are read before the first is used.
constexpr std::array<Size, 8> steps{8, 9, 7, 6, 5, 4, 3, 2};

Size count(Size size, Size of) { return (size + of - 1) / of; }
Size whole(Size size, Size of) { return count(size, of) * of; }

struct Spot {
  Size down, right, tap;
};
struct Phase {
  Size top, left, height, width;
  std::vector<Spot> spots;
};

std::vector<Phase> phases_of(const Conv2dRequest& r, bool backward) {
  std::vector<Phase> found;
  const Size down = backward ? r.stride[0] : 1, right = backward ? r.stride[1] : 1;
  for (Size top = 0; top < down; ++top) {
    for (Size left = 0; left < right; ++left) {
      Phase phase{top, left, r.out_height, r.out_width, {}};
      if (backward) {
        phase.height = count(r.height - top, down);
        phase.width = count(r.width - left, right);
      }
      if (phase.height <= 0 || phase.width <= 0) continue;
      for (Size y = 0; y < r.filter_height; ++y) {
        for (Size x = 0; x < r.filter_width; ++x) {
          Size dy = y * r.dilation[0], dx = x * r.dilation[1];
          if (backward) {
            dy = top + r.pad[0] - dy;
            dx = left + r.pad[1] - dx;
            if (dy % down != 0 || dx % right != 0) continue;
            dy /= down;
            dx /= right;
          }
          phase.spots.push_back({dy, dx, y * r.filter_width + x});
        }
      }
      found.push_back(std::move(phase));
    }
  }
  return found;
}

/// The largest step that leaves little to fill up, of all phases.
Size step_for(std::span<const Phase> phases) {
  const auto filled = [&](Size step) {
    Size sum = 0;
    for (const Phase& phase : phases) sum += whole(static_cast<Size>(phase.spots.size()), step);
    return sum;
  };
  for (const Size step : steps) {
    if (filled(step) * 20 <= filled(1) * 21) return step;
  }
  return 1;
}

}  // namespace

bool GpuBackend::conv_spots(std::string_view op, const Conv2dRequest& r, bool backward) {
  const DeviceLimits& limits = device_->limits();
  const Size taps = r.filter_height * r.filter_width;
  const Size channels = r.channels / r.groups, filters = r.filters / r.groups;
  const Size rows = backward ? channels : filters, deep = backward ? filters : channels;
  if (!limits.compiles_templates || taps > most_spots || rows == 0 || deep == 0 ||
      (backward && r.stride[0] * r.stride[1] > most_phases)) {
    return false;
  }
  std::vector<Phase> phases = phases_of(r, backward);
  Size columns = 0;
  for (const Phase& phase : phases)
    columns = std::max(columns, r.batch * phase.height * phase.width);
  const auto phase_count = static_cast<Size>(phases.size());
  const Size copies = phase_count * r.groups;
  if (columns == 0) return false;

  const bool few = rows < least_tile_rows;
  const bool is_deep = few && deep >= least_deep;
  const Size tap_step = few && !is_deep ? step_for(phases) : 1;
  const ConvTile& tile = conv_tile(rows, columns, copies, limits.planned_units);
  Size depth = 0;
  std::vector<std::uint32_t> spots(static_cast<std::size_t>(12 * phase_count));
  const Size source_width = backward ? r.out_width : r.width;
  for (Size i = 0; i < phase_count; ++i) {
    Phase& phase = phases[static_cast<std::size_t>(i)];
    const Size first = static_cast<Size>(spots.size()) / 4;
    const auto real = static_cast<Size>(phase.spots.size());
    // What lies outside wraps around.
    for (const Spot& spot : phase.spots) {
      for (const Size word :
           {spot.down, spot.right, spot.down * source_width + spot.right, spot.tap}) {
        spots.push_back(static_cast<std::uint32_t>(word));
      }
    }
    const Size end = first + whole(real, tap_step);
    for (Size more = first + real; more < end; ++more) {
      spots.insert(spots.end(), {std::uint32_t{1} << 31, 0, 0, 0});
    }
    const Size own_depth = whole(deep * real, depth_step);
    const std::array<Size, 12> head{first,
                                    end,
                                    phase.height,
                                    phase.width,
                                    group_size / (phase.height * phase.width),
                                    group_size / phase.width % phase.height,
                                    group_size % phase.width,
                                    depth,
                                    phase.top,
                                    phase.left,
                                    own_depth,
                                    0};
    std::transform(head.begin(), head.end(), spots.begin() + 12 * i,
                   [](Size word) { return static_cast<std::uint32_t>(word); });
    depth += own_depth;
  }
  const auto bytes = std::as_bytes(std::span(spots));

  const Size padded_rows = whole(rows, tile.bm);
  const std::uint64_t packed_bytes = bytes_of(r.groups * depth * padded_rows, r.dtype);
  const std::uint64_t table_bytes = static_cast<std::uint64_t>(depth) * 16;
  AllocationRef packed, table;
  if (!few && depth > 0) {
    packed = memory_->try_scratch(op, packed_bytes);
    table = memory_->try_scratch(op, table_bytes);
    if (!packed || !table || packed_bytes > limits.max_binding_bytes) return false;
  }
  if (!few && depth == 0) return false;
  const AllocationRef written = memory_->written_once(op, bytes.size());
  memory_->with_room([&] { device_->upload(buffer_of(written), 0, bytes); });

  const Binding filter = bind(op, r.filter, bytes_of(r.filters * channels * taps, r.dtype));
  const Binding input =
      bind(op, r.input, bytes_of(r.batch * r.channels * r.height * r.width, r.dtype));
  const Binding output =
      bind(op, r.output, bytes_of(r.batch * r.filters * r.out_height * r.out_width, r.dtype));
  const Binding all_spots = bind(op, written, bytes.size());
  struct {
    std::uint32_t images, groups, rows, deep, depth, first, tiles_n, group_stride, row_stride,
        deep_stride, source_height, source_width, result_height, result_width, in_step_h, in_step_w,
        in_pad_h, in_pad_w, out_step_h, out_step_w;
    float slope;
    std::uint32_t zero;
  } params{u32(r.batch),
           u32(r.groups),
           u32(rows),
           u32(deep),
           u32(depth),
           0,
           0,
           u32(filters * channels * taps),
           u32(backward ? taps : channels * taps),
           u32(backward ? channels * taps : taps),
           u32(backward ? r.out_height : r.height),
           u32(source_width),
           u32(backward ? r.height : r.out_height),
           u32(backward ? r.width : r.out_width),
           u32(backward ? 1 : r.stride[0]),
           u32(backward ? 1 : r.stride[1]),
           u32(backward ? 0 : r.pad[0]),
           u32(backward ? 0 : r.pad[1]),
           u32(backward ? r.stride[0] : 1),
           u32(backward ? r.stride[1] : 1),
           r.slope,
           0};
  const bool bias = !backward && r.bias != nullptr;
  std::vector<Binding> bindings{backward ? output : input};
  if (few) {
    bindings.insert(bindings.end(), {filter, all_spots});
  } else {
    const Binding packed_filter = bind(op, packed, packed_bytes);
    const Binding deep_spots = bind(op, table, table_bytes);
    bindings.insert(bindings.end(), {packed_filter, deep_spots, all_spots});
    auto of_pack = params;
    of_pack.first = u32(phase_count);
    of_pack.tiles_n = u32(padded_rows);
    const std::array<Binding, 4> pack_bindings{filter, all_spots, packed_filter, deep_spots};
    run(KernelId::conv2d_spots_pack, half_bit(r.dtype), of_pack, pack_bindings,
        cover(static_cast<std::uint64_t>(r.groups * depth * padded_rows), group_size),
        [&](TemplateVariables& v) { set_common(v, r.dtype); });
  }
  bindings.push_back(backward ? input : output);
  if (bias) bindings.push_back(bind(op, r.bias, bytes_of(r.filters, r.dtype)));

  Size places = 1;
  while (few && places < most_places && rows * places * 2 <= most_sums &&
         count(columns, group_size * places * 2) * copies >= 4 * limits.planned_units) {
    places *= 2;
  }
  const Size step_bytes = (tile.bm + tile.bn) * depth_step * static_cast<Size>(sizeof(float));
  const Size buffers =
      2 * step_bytes <= std::min(Size{limits.local_memory_bytes}, shared_memory) ? 2 : 1;
  const bool edges = backward || r.pad != Pair{0, 0};
  const std::uint32_t variant =
      ((few ? u32((rows * 8 + places) * 16 + (is_deep ? 0 : tap_step)) : place_of(tile)) * 4 +
       (edges ? 2 : 0) + (bias ? 1 : 0)) *
          32 +
      half_bit(r.dtype) * 16 + static_cast<std::uint32_t>(r.activation);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["BIAS"] = std::int64_t{bias};
    v["ACTIVATION"] = std::string(backward ? "none" : to_string(r.activation));
    v["EDGES"] = std::int64_t{edges};
    v["ROWS"] = std::int64_t{rows};
    v["PLACES"] = std::int64_t{places};
    v["DEEP"] = std::int64_t{is_deep};
    v["STEP"] = std::int64_t{is_deep ? deep_step : tap_step};
    v["BM"] = std::int64_t{tile.bm};
    v["BN"] = std::int64_t{tile.bn};
    v["BK"] = std::int64_t{depth_step};
    v["TM"] = std::int64_t{tile.tm};
    v["TN"] = std::int64_t{tile.tn};
    v["BUFFERS"] = std::int64_t{buffers};
  };
  const Size tiles_n = count(columns, tile.bn);
  params.tiles_n = u32(tiles_n);
  auto grid = few ? cover(static_cast<std::uint64_t>(columns), u32(group_size * places))
                  : cover(static_cast<std::uint64_t>(count(rows, tile.bm) * tiles_n), 1);
  const Size most = limits.max_groups;
  for (Size first = 0; first < copies; first += most) {
    params.first = u32(first);
    grid[2] = u32(std::min(most, copies - first));
    run(few ? KernelId::conv2d_spots_few : KernelId::conv2d_spots, variant, params, bindings, grid,
        fill);
  }
  return true;
}

}  // namespace tilewright::gpu
