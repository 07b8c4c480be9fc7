#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/kernels/conv_table.hpp"

namespace tilewright::cpu {

/// Taps that are all pairs of some of the rows and some of the columns, as the kernels take them,
/// and where each one's weight is in the filter.
class PairedTaps {
 public:
  PairedTaps(const ConvAxis& rows, const ConvAxis& columns, const ConvPlanes& planes,
             std::vector<AxisTap> row_taps, const std::vector<AxisTap>& column_taps,
             Size row_stride) {
    const Size plane = planes.height * planes.width;
    const Size step = static_cast<Size>(columns.source_phases.size()) * plane;
    for (const AxisTap& tap : column_taps) {
      columns_.push_back(tap.phase * plane + tap.shift - columns.min_shift);
    }
    std::sort(row_taps.begin(), row_taps.end(), [](const AxisTap& a, const AxisTap& b) {
      return a.phase != b.phase ? a.phase < b.phase : a.shift < b.shift;
    });
    for (std::size_t first = 0; first < row_taps.size();) {
      std::size_t count = 1;
      while (count < most_thin_rows && first + count < row_taps.size() &&
             row_taps[first + count].phase == row_taps[first].phase &&
             row_taps[first + count].shift == row_taps[first + count - 1].shift + 1) {
        ++count;
      }
      const AxisTap& tap = row_taps[first];
      rows_.push_back({tap.phase * step + (tap.shift - rows.min_shift) * planes.width, count});
      for (const AxisTap& column : column_taps) {
        for (std::size_t j = first; j < first + count; ++j) {
          weights_.push_back(row_taps[j].index * row_stride + column.index);
        }
      }
      first += count;
    }
    width_ = planes.width;
  }

  ThinTaps taps() const {
    return {width_, rows_.data(), rows_.size(), columns_.data(), columns_.size()};
  }
  const std::vector<Size>& weights() const { return weights_; }

 private:
  std::ptrdiff_t width_ = 0;
  std::vector<ThinRows> rows_;
  std::vector<std::ptrdiff_t> columns_;
  std::vector<Size> weights_;
};

/// Planes that a group reads, and that it writes, times each other: with more, filters are better
/// taken together.
inline bool is_thin(Size channels, Size filters) { return channels * filters <= 4; }

/// Groups of so many floats that are laid out in one call: they stay near.
inline Size planes_together(Size floats) {
  constexpr Size cached = Size{1} << 14;
  return std::clamp<Size>(cached / std::max<Size>(floats, 1), 1, 16);
}

/// Rows of sums, in whole vectors and one more.
inline std::size_t thin_stride(Size columns) {
  return static_cast<std::size_t>((columns + 31) / 16 * 16);
}

/// Blocks of whole rows, or nothing where these are too long.
inline ConvBlock thin_block(const ConvAxis& rows, const ConvAxis& columns, Size channels,
                            Size tasks) {
  const ConvBlock block = block_size(rows, columns, channels, tasks);
  constexpr double most_floats = 1 << 19;
  const auto extent = [](const ConvAxis& axis, Size positions) {
    return static_cast<double>(axis.source_phases.size()) *
           static_cast<double>(positions + axis.span());
  };
  const double floats =
      static_cast<double>(channels) * extent(rows, block.rows) * extent(columns, block.columns);
  return block.columns == columns.size() && floats <= most_floats ? block : ConvBlock{};
}

}  // namespace tilewright::cpu
