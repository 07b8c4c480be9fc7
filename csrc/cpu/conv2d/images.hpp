#pragma once

#include <vector>

#include "cpu/conv2d/conv2d.hpp"

namespace tilewright::cpu {

/// Filters that are taken at a time where they are not side by side.
inline constexpr Size images_run_filters = 32;
/// Positions of a run at most.
inline constexpr Size longest_images_run = 128;

/// Some neighbours in a row of the grid, counted from its first column, and the taps through which
/// they see the source.
struct Segment {
  Size begin, end;
  std::vector<AxisTap> taps;
};

/// A phase along an axis: its range, cut into segments.
struct AxisPart {
  Size offset;
  GridRange range;
  std::vector<Segment> segments;
};

/// In segments of so many columns at most.
std::vector<AxisPart> parts_of(const ConvAxis& axis, Size length);

/// What there is to do by images, and how it is laid out.
struct ImagesWork {
  const ConvAxis &rows, &columns;
  Size batch, groups, channels, filters, taps;
  Size column_phases, width;  ///< of a row of planes
  Size channel_floats;        ///< of the planes of one image

  template <class T>
  explicit ImagesWork(const Correlation<T>& c)
      : rows(c.rows),
        columns(c.columns),
        batch(c.batch),
        groups(c.groups),
        channels(c.channels),
        filters(c.filters),
        // Taps of a filter follow each other in either order of filters and channels.
        taps(std::min(c.channel_stride, c.filter_stride)),
        column_phases(static_cast<Size>(c.columns.source_phases.size())),
        width(c.columns.size() + c.columns.span()),
        channel_floats(c.rows.source_size * column_phases * width) {}

  Size sources() const { return rows.source_size * columns.source_size; }
  Size targets() const { return rows.target_size * columns.target_size; }
};

/// The plan that takes least, whatever memory it takes.
ImagesPlan plan_images(const ImagesWork& work);

}  // namespace tilewright::cpu
