#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"

namespace tilewright::cpu {

namespace {

/// Channels whose rows are filled before the next row.
constexpr Size channels_at_once = 16;

/// Every `step`th element.
template <class T>
void pack_steps(const T* from, Size step, float* to, Size count) {
  constexpr Size chunk = 64;
  T gathered[chunk];
  for (Size x = 0; x < count; x += chunk) {
    const Size part = std::min(chunk, count - x);
    for (Size i = 0; i < part; ++i) gathered[i] = from[(x + i) * step];
    to_float32(gathered, to + x, static_cast<std::size_t>(part));
  }
}

/// A row of the source from `first` in steps, zeros where the row has nothing.
template <class T>
void pack_row(const T* row, Size size, Size first, Size step, float* to, Size width) {
  const Size begin = std::min(width, first >= 0 ? 0 : ceil_div(-first, step));
  const Size end = first >= size ? begin : std::clamp(ceil_div(size - first, step), begin, width);
  std::fill_n(to, begin, 0.0f);
  if (step == 1 && begin < end) {
    to_float32(row + first + begin, to + begin, static_cast<std::size_t>(end - begin));
  } else if (begin < end) {
    pack_steps(row + first + begin * step, step, to + begin, end - begin);
  }
  std::fill_n(to + end, width - end, 0.0f);
}

/// Whether a row's phases are its neighbours, which are laid out together.
bool are_neighbours(const ConvAxis& axis) {
  const Size phases = static_cast<Size>(axis.source_phases.size());
  for (Size i = 0; i < phases; ++i) {
    if (axis.source_phases[size(i)] != i) return false;
  }
  return phases <= axis.source_step && axis.source_step <= 4;
}

/// The same with all rows of some channels' planes in one call.
void pack_float_planes(const ConvAxis& row_axis, const ConvAxis& column_axis,
                       const ConvPlanes& planes, const ConvBlock& block, const float* source,
                       Size channels, float* to) {
  const Size width = planes.width, plane = planes.height * width;
  const Size column_phases = static_cast<Size>(column_axis.source_phases.size());
  const Size together = are_neighbours(column_axis) ? column_phases : 1;
  const Size step = row_axis.source_step, sources = column_axis.source_size;
  std::vector<PlaneRows> all;
  Size at = 0;
  for (const Size row_phase : row_axis.source_phases) {
    const Size y = step * (block.row + row_axis.min_shift) + row_phase - row_axis.source_origin;
    const Size begin = std::clamp<Size>(y >= 0 ? 0 : ceil_div(-y, step), 0, planes.height);
    const Size end =
        y >= row_axis.source_size
            ? begin
            : std::clamp(ceil_div(row_axis.source_size - y, step), begin, planes.height);
    for (Size phase = 0; phase < column_phases; phase += together, at += together * plane) {
      const Size x = column_axis.source_step * (block.column + column_axis.min_shift) +
                     column_axis.source_phases[size(phase)] - column_axis.source_origin;
      const auto add = [&](Size first, Size last, bool is_there) {
        if (first == last) return;
        const Size from = is_there ? (y + first * step) * sources + x : 0;
        all.push_back({from, is_there ? -x : 0, is_there ? sources - x : 0,
                       size(at + first * width), size(plane - first * width), size(last - first)});
      };
      add(0, begin, false);
      add(begin, end, true);
      add(end, planes.height, false);
    }
  }
  const Size source_plane = row_axis.source_size * sources;
  for (Size c = 0; c < channels; c += channels_at_once) {
    conv_table().fill_planes(
        {source + c * source_plane, size(std::min(channels_at_once, channels - c)),
         size(source_plane), size(step * sources), all.data(), all.size(),
         size(column_axis.source_step), size(together), to + c * planes.channel_stride,
         size(planes.channel_stride), size(plane), size(width)});
  }
}

}  // namespace

template <class T>
void pack_planes(const ConvAxis& row_axis, const ConvAxis& column_axis, const ConvPlanes& planes,
                 const ConvBlock& block, const T* source, Size channels, float* to) {
  if constexpr (std::is_same_v<T, float>) {
    return pack_float_planes(row_axis, column_axis, planes, block, source, channels, to);
  }
  for (Size c = 0; c < channels; ++c) {
    for (const Size row_phase : row_axis.source_phases) {
      for (const Size column_phase : column_axis.source_phases) {
        const Size first = column_axis.source_step * (block.column + column_axis.min_shift) +
                           column_phase - column_axis.source_origin;
        for (Size y = 0; y < planes.height; ++y, to += planes.width) {
          const Size row = row_axis.source_step * (block.row + row_axis.min_shift + y) + row_phase -
                           row_axis.source_origin;
          if (row < 0 || row >= row_axis.source_size) {
            std::fill_n(to, planes.width, 0.0f);
          } else {
            pack_row(source + row * column_axis.source_size, column_axis.source_size, first,
                     column_axis.source_step, to, planes.width);
          }
        }
      }
    }
    source += row_axis.source_size * column_axis.source_size;
  }
}

template void pack_planes(const ConvAxis&, const ConvAxis&, const ConvPlanes&, const ConvBlock&,
                          const float*, Size, float*);
template void pack_planes(const ConvAxis&, const ConvAxis&, const ConvPlanes&, const ConvBlock&,
                          const Half*, Size, float*);

}  // namespace tilewright::cpu
