#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of the source that a block should take: they stay in the second-level cache.
constexpr Size cache_floats = Size{1} << 17;
/// What a task packs at most, except where the taps of a few positions take more.
constexpr Size most_floats = Size{1} << 22;

Size phases_of(const ConvAxis& axis) { return static_cast<Size>(axis.source_phases.size()); }

/// Of packed blocks.
double floats_of(const ConvAxis& row_axis, const ConvAxis& column_axis, Size channels, Size rows,
                 Size columns) {
  return static_cast<double>(channels * phases_of(row_axis) * phases_of(column_axis)) *
         static_cast<double>(rows + row_axis.span()) *
         static_cast<double>(columns + column_axis.span());
}

}  // namespace

bool ConvAxis::is_plain() const {
  return source_step == 1 && source_phases.size() == 1 && begin + min_shift >= source_origin &&
         end - 1 + max_shift - source_origin < source_size;
}

bool ConvAxis::part_taps(Size block) {
  Size taps = 0;
  for (const TargetPhase& phase : target_phases) taps += static_cast<Size>(phase.taps.size());
  if (taps * block >= phases_of(*this) * (block + span())) return false;
  std::vector<Size> parted;
  for (TargetPhase& phase : target_phases) {
    for (AxisTap& tap : phase.taps) {
      const Size at = source_phases[static_cast<std::size_t>(tap.phase)];
      tap.phase = static_cast<Size>(parted.size());
      parted.push_back(at + tap.shift * source_step);
      tap.shift = 0;
    }
  }
  source_phases = std::move(parted);
  min_shift = max_shift = 0;
  return true;
}

void ConvAxis::drop_unseen_taps() {
  Size least = std::numeric_limits<Size>::max(), largest = std::numeric_limits<Size>::min();
  for (TargetPhase& phase : target_phases) {
    std::erase_if(phase.taps, [&](const AxisTap& tap) {
      return seen_at(begin, tap) >= source_size || seen_at(end - 1, tap) < 0;
    });
    for (const AxisTap& tap : phase.taps) {
      least = std::min(least, tap.shift);
      largest = std::max(largest, tap.shift);
    }
  }
  const bool sees = least <= largest;
  min_shift = sees ? least : 0;
  max_shift = sees ? largest : 0;
}

GridRange ConvAxis::targets_at(Size offset) const {
  const Size from = target_origin - offset;
  const Size first = from > 0 ? ceil_div(from, target_step) : -(-from / target_step);
  return {std::max(first, begin), std::min(ceil_div(target_size + from, target_step), end)};
}

ConvAxis ConvAxis::forward(const SlidingAxis& x) {
  ConvAxis axis{x.input, x.stride, x.pad, x.output, 1, 0, 0, x.output, 0, 0, {}, {}};
  const Size period = x.stride / std::gcd(x.stride, x.dilation);
  TargetPhase phase{0, {}};
  for (Size r = 0; r < x.filter; ++r) {
    if (r < period) axis.source_phases.push_back(r * x.dilation % x.stride);
    axis.max_shift = r * x.dilation / x.stride;
    phase.taps.push_back({axis.max_shift, r % period, r});
  }
  axis.target_phases.push_back(std::move(phase));
  return axis;
}

ConvAxis ConvAxis::backward(const SlidingAxis& x) {
  ConvAxis axis{x.output,
                1,
                0,
                x.input,
                x.stride,
                x.pad,
                x.pad / x.stride,
                (x.input - 1 + x.pad) / x.stride + 1,
                0,
                0,
                {0},
                {}};
  axis.min_shift = -(x.filter - 1) * x.dilation / x.stride;
  const TapFinder finder(x);
  for (Size i = 0; i < std::min(x.input, x.stride); ++i) {
    TargetPhase phase{(i + x.pad) % x.stride, {}};
    const Size first = finder.first_tap(phase.offset);
    for (Size r = first; first >= 0 && r < x.filter; r += finder.period()) {
      phase.taps.push_back({-(r * x.dilation - phase.offset) / x.stride, 0, r});
    }
    axis.target_phases.push_back(std::move(phase));
  }
  return axis;
}

double walked_pairs(const Conv2dRequest& r) {
  return static_cast<double>(r.out_height * r.out_width) *
         static_cast<double>(r.filter_height * r.filter_width);
}

double walked_pairs_backward(const Conv2dRequest& r) {
  double pairs = 1;
  for (const SlidingAxis& x : axes_of(r)) {
    pairs *= static_cast<double>((x.input - 1) / x.stride + 2) * static_cast<double>(x.filter);
  }
  return pairs;
}

ConvPlanes::ConvPlanes(const ConvAxis& row_axis, const ConvAxis& column_axis, Size rows,
                       Size columns)
    : height(rows + row_axis.span()),
      width(columns + column_axis.span()),
      channel_stride(
          height * width *
          static_cast<Size>(row_axis.source_phases.size() * column_axis.source_phases.size())) {}

std::ptrdiff_t ConvPlanes::offset(const ConvAxis& row_axis, const ConvAxis& column_axis,
                                  const AxisTap& row, const AxisTap& column) const {
  const Size plane = row.phase * static_cast<Size>(column_axis.source_phases.size()) + column.phase;
  return (plane * height + row.shift - row_axis.min_shift) * width + column.shift -
         column_axis.min_shift;
}

std::size_t packed_size(const ConvPlanes& planes, Size channels) {
  return static_cast<std::size_t>(planes.channel_stride * channels) + 64;
}

ConvBlock block_size(const ConvAxis& row_axis, const ConvAxis& column_axis, Size channels,
                     Size tasks) {
  constexpr Size fewest_rows = 4, fewest_columns = 48;
  const auto floats = [&](Size rows, Size columns) {
    return floats_of(row_axis, column_axis, channels, rows, columns);
  };
  // So many rows, or columns, of a block have room.
  const auto room = [](Size floats_in_all, double floats_of_one, Size span) {
    return static_cast<Size>(static_cast<double>(floats_in_all) / floats_of_one) - span;
  };
  Size columns = column_axis.size();
  Size rows = room(cache_floats, floats(1 - row_axis.span(), columns), row_axis.span());
  rows = std::clamp<Size>(rows, std::min(fewest_rows, row_axis.size()), row_axis.size());
  const Size blocks = std::max(ceil_div(row_axis.size(), rows), tasks);
  rows = std::clamp<Size>(ceil_div(row_axis.size(), blocks), std::min(fewest_rows, rows), rows);
  if (floats(rows, columns) > static_cast<double>(8 * cache_floats)) {
    columns = room(8 * cache_floats, floats(rows, 1 - column_axis.span()), column_axis.span());
    columns =
        std::clamp<Size>(columns, std::min(fewest_columns, column_axis.size()), column_axis.size());
  }
  return {0, 0, rows, columns};
}

ConvBlock packed_block_size(ConvAxis& row_axis, ConvAxis& column_axis, Size channels, Size tasks) {
  ConvBlock block = block_size(row_axis, column_axis, channels, tasks);
  const bool parted_rows = row_axis.part_taps(block.rows);
  const bool parted_columns = column_axis.part_taps(block.columns);
  if (parted_rows || parted_columns) block = block_size(row_axis, column_axis, channels, tasks);
  // Smaller blocks take less only where they are more than what lies between their taps.
  const auto halve = [&](Size& size, Size span) {
    while (size > span + 1 && floats_of(row_axis, column_axis, channels, block.rows,
                                        block.columns) > static_cast<double>(most_floats)) {
      size = ceil_div(size, 2);
    }
  };
  halve(block.rows, row_axis.span());
  halve(block.columns, column_axis.span());
  return block;
}

}  // namespace tilewright::cpu
