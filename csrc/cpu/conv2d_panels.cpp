#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/kernels/windows_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Vectors of positions that a product takes at a time.
constexpr Size most_vectors = 3;
constexpr Size least_filters = 64, least_channels = 32;
constexpr Size channels_at_once = 16, filters_at_once = 32;
/// Floats of a panel, which stays in the second-level cache.
constexpr double most_floats = 1 << 19;
constexpr Size most_places = 1 << 28;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }
std::size_t size(Size n) { return static_cast<std::size_t>(n); }

/// Every `step`th element.
template <class T>
void pack_steps(const T* from, Size step, float* to, Size count) {
  if constexpr (std::is_same_v<T, float>) {
    if (step == 2) {
      const RowWindows single{1, 2, 1};
      return window_table().float32.sum_windows(from, single, to, static_cast<std::size_t>(count));
    }
  }
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

/// A tap's index along an axis, and where the first output sees the source through it.
struct AxisPlace {
  Size index, first;
};

std::vector<AxisPlace> places_of(const ConvAxis& axis) {
  std::vector<AxisPlace> places;
  for (const AxisTap& tap : axis.target_phases[0].taps) {
    places.push_back({tap.index, axis.source_step * (axis.begin + tap.shift) +
                                     axis.source_phases[size(tap.phase)] - axis.source_origin});
  }
  return places;
}

bool has_one_phase(const ConvAxis& axis) {
  return axis.target_step == 1 && axis.target_phases.size() == 1 &&
         axis.target_phases[0].offset == 0 && axis.begin == axis.target_origin &&
         axis.size() == axis.target_size;
}

/// Neighbours in a row of the source from column x on, in the axis's steps.
PanelPiece piece_of(const ConvAxis& row_axis, const ConvAxis& column_axis, Size y, Size x, Size at,
                    Size count) {
  const Size step = column_axis.source_step;
  Size begin = std::clamp<Size>(x >= 0 ? 0 : ceil_div(-x, step), 0, count);
  Size end = x >= column_axis.source_size
                 ? begin
                 : std::clamp(ceil_div(column_axis.source_size - x, step), begin, count);
  if (y < 0 || y >= row_axis.source_size) begin = end = y = 0;
  const auto place = [](Size n) { return static_cast<std::uint32_t>(n); };
  return {y * column_axis.source_size + x, place(at), place(count), place(begin), place(end)};
}

/// The same with all pieces of a channel's planes in one call.
void pack_float_planes(const ConvAxis& row_axis, const ConvAxis& column_axis,
                       const ConvPlanes& planes, const ConvBlock& block, const float* source,
                       Size channels, float* to) {
  const Size step = column_axis.source_step, width = planes.width;
  std::vector<PanelPiece> pieces;
  Size at = 0;
  for (const Size row_phase : row_axis.source_phases) {
    for (const Size column_phase : column_axis.source_phases) {
      const Size x =
          step * (block.column + column_axis.min_shift) + column_phase - column_axis.source_origin;
      for (Size y = 0; y < planes.height; ++y, at += width) {
        const Size row = row_axis.source_step * (block.row + row_axis.min_shift + y) + row_phase -
                         row_axis.source_origin;
        pieces.push_back(piece_of(row_axis, column_axis, row, x, at, width));
      }
    }
  }
  const Size plane = row_axis.source_size * column_axis.source_size;
  const auto fill_panel = conv_table().fill_panel;
  for (Size c = 0; c < channels; ++c) {
    fill_panel(source + c * plane,
               {pieces.data(), pieces.size(), size(step), c * plane, (channels - c) * plane},
               to + c * planes.channel_stride);
  }
}

class Panels {
 public:
  explicit Panels(const Correlation<float>& c)
      : c_(c), rows_(places_of(c.rows)), columns_(places_of(c.columns)) {
    outputs_ = c.rows.target_size * c.columns.target_size;
    taps_ = static_cast<Size>(rows_.size() * columns_.size());
    deep_ = c.channels * taps_;
    plane_ = c.rows.source_size * c.columns.source_size;
    step_ = c.columns.source_step;
    const Size lanes = static_cast<Size>(kernels().simd_width);
    const Size vectors = outputs_ / lanes;
    // Some vectors of eight lanes are a panel as wide as few of sixteen.
    const Size most = most_vectors * 16 / std::min<Size>(lanes, 16);
    panels_ = ceil_div(vectors, most);
    for (Size i = 0; i <= panels_; ++i) {
      starts_.push_back(i == panels_ ? outputs_ : i * vectors / panels_ * lanes);
      if (i > 0) width_ = std::max(width_, starts_[size(i)] - starts_[size(i - 1)]);
    }
    width_ = ceil_div(width_, 16) * 16;
    for (Size i = 0; i < panels_; ++i) pieces_.push_back(cut(i));
    panel_floats_ = deep_ * width_ + 16;
  }

  double panel_floats() const { return static_cast<double>(panel_floats_); }

  void run(bool is_small) const {
    const Size images = c_.batch * c_.groups, all_panels = images * panels_;
    const Size threads = is_small ? 1 : static_cast<Size>(thread_count());
    if (all_panels >= 2 * threads || threads == 1) {
      const Size group = is_small ? all_panels : all_panels / (16 * threads) + 1;
      const Size tasks = ceil_div(all_panels, group);
      OpScratch all(c_.pool, c_.op, size(panel_floats_), size(tasks));
      parallel_tasks(size(tasks), [&](std::size_t task) {
        Scratch scratch(all);
        float* const panel = scratch.take(size(panel_floats_));
        const Size first = static_cast<Size>(task) * group;
        for (Size i = first; i < std::min(all_panels, first + group); ++i) {
          fill(i, 0, c_.channels, panel);
          multiply(i, 0, c_.filters, panel);
        }
      });
      return;
    }
    // Threads fill the few panels together, and then share the filters.
    OpScratch all(c_.pool, c_.op, size(panel_floats_ * all_panels));
    Scratch scratch(all);
    float* const panels = scratch.take(size(panel_floats_ * all_panels));
    const Size channel_parts = ceil_div(c_.channels, channels_at_once);
    parallel_tasks(size(all_panels * channel_parts), [&](std::size_t task) {
      const Size i = static_cast<Size>(task) / channel_parts;
      const Size first = static_cast<Size>(task) % channel_parts * channels_at_once;
      fill(i, first, std::min(channels_at_once, c_.channels - first), panels + i * panel_floats_);
    });
    const Size filter_parts = ceil_div(c_.filters, filters_at_once);
    parallel_tasks(size(all_panels * filter_parts), [&](std::size_t task) {
      const Size i = static_cast<Size>(task) / filter_parts;
      const Size first = static_cast<Size>(task) % filter_parts * filters_at_once;
      multiply(i, first, std::min(filters_at_once, c_.filters - first), panels + i * panel_floats_);
    });
  }

 private:
  /// What the positions of a panel see, tap by tap, of a channel.
  std::vector<PanelPiece> cut(Size panel) const {
    std::vector<PanelPiece> pieces;
    const Size begin = starts_[size(panel)], end = starts_[size(panel + 1)];
    const Size width = c_.columns.target_size;
    Size at = 0;
    for (const AxisPlace& row : rows_) {
      for (const AxisPlace& column : columns_) {
        for (Size i = begin; i < end;) {
          const Size y = c_.rows.source_step * (i / width) + row.first;
          const Size x = step_ * (i % width) + column.first;
          const Size count = std::min(width - i % width, end - i);
          pieces.push_back(piece_of(c_.rows, c_.columns, y, x, at + i - begin, count));
          i += count;
        }
        at += width_;
      }
    }
    return pieces;
  }

  void fill(Size index, Size first, Size channels, float* panel) const {
    const Size image = index / panels_;
    const std::vector<PanelPiece>& pieces = pieces_[size(index % panels_)];
    const Size all = c_.batch * c_.groups * c_.channels * plane_;
    const auto fill_panel = conv_table().fill_panel;
    PanelRows rows{pieces.data(), pieces.size(), size(step_), 0, 0};
    for (Size i = first; i < first + channels; ++i) {
      const Size from = (image * c_.channels + i) * plane_;
      rows.before = from;
      rows.behind = all - from;
      fill_panel(c_.source + from, rows, panel + i * taps_ * width_);
    }
  }

  void multiply(Size index, Size first, Size filters, const float* panel) const {
    const Size image = index / panels_, at = starts_[size(index % panels_)];
    const Size group = image % c_.groups;
    const Tap tap{0, 0};
    TapProduct product{};
    product.input = panel;
    product.input_stride = size(width_);
    product.channels = size(deep_);
    product.taps = &tap;
    product.tap_count = 1;
    product.weights = c_.weights + group * c_.group_stride + first * c_.filter_stride;
    product.filter_stride = size(c_.filter_stride);
    product.weight_stride = 1;
    product.start = c_.start != nullptr ? c_.start + group * c_.filters + first : nullptr;
    product.output = c_.target + (image * c_.filters + first) * outputs_ + at;
    product.output_stride = size(outputs_);
    product.filters = size(filters);
    product.positions = size(starts_[size(index % panels_ + 1)] - at);
    product.is_clamped = c_.activation == Activation::relu || c_.activation == Activation::relu6;
    product.high = c_.activation == Activation::relu6 ? 6 : std::numeric_limits<float>::infinity();
    kernels().linear.tap_product(product);
    if (c_.activation == Activation::none || product.is_clamped) return;
    for (Size f = 0; f < filters; ++f) {
      kernels().activate(c_.activation, c_.slope, product.output + f * outputs_, product.positions);
    }
  }

  const Correlation<float>& c_;
  std::vector<AxisPlace> rows_, columns_;
  Size outputs_, taps_, deep_, plane_, step_, panels_, width_ = 0, panel_floats_;
  std::vector<Size> starts_;  ///< the first position of each panel, and their end
  std::vector<std::vector<PanelPiece>> pieces_;
};

}  // namespace

template <class T>
void pack_planes(const ConvAxis& row_axis, const ConvAxis& column_axis, const ConvPlanes& planes,
                 const ConvBlock& block, const T* source, Size channels, float* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (column_axis.source_step <= 2) {
      return pack_float_planes(row_axis, column_axis, planes, block, source, channels, to);
    }
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

template <class T>
bool correlate_by_panels(const Correlation<T>& c) {
  if constexpr (std::is_same_v<T, float>) {
    if (c.filters < least_filters || c.channels < least_channels || !has_one_phase(c.rows) ||
        !has_one_phase(c.columns)) {
      return false;
    }
    const Size taps = static_cast<Size>(c.rows.target_phases[0].taps.size() *
                                        c.columns.target_phases[0].taps.size());
    // Positions that lie side by side in the source are as well multiplied where they are.
    const bool is_strided = c.rows.source_step > 1 || c.columns.source_step > 1;
    if (taps == 1 || !is_strided || c.columns.source_step > 2 || c.channel_stride != taps) {
      return false;
    }
    const Size outputs = c.rows.target_size * c.columns.target_size;
    if (outputs < static_cast<Size>(kernels().simd_width) || outputs > most_places ||
        c.rows.source_size * c.columns.source_size > most_places) {
      return false;
    }
    const Panels panels(c);
    if (panels.panel_floats() > most_floats) return false;
    panels.run(static_cast<double>(outputs * taps * c.channels) *
                   static_cast<double>(c.filters * c.batch * c.groups) <
               1 << 18);
    return true;
  } else {
    return false;
  }
}

template bool correlate_by_panels(const Correlation<float>&);
template bool correlate_by_panels(const Correlation<Half>&);

}  // namespace tilewright::cpu
