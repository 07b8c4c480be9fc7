#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/conv2d.hpp"
#include "cpu/kernels/conv_table.hpp"
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
          const bool is_there = y >= 0 && y < c_.rows.source_size;
          const Size first = std::clamp<Size>(x >= 0 ? 0 : ceil_div(-x, step_), 0, count);
          const Size last =
              x >= c_.columns.source_size
                  ? first
                  : std::clamp(ceil_div(c_.columns.source_size - x, step_), first, count);
          const auto place = [](Size n) { return static_cast<std::uint32_t>(n); };
          pieces.push_back({y * c_.columns.source_size + x, place(at + i - begin), place(count),
                            place(is_there ? first : 0), place(is_there ? last : 0)});
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
bool correlate_by_panels(const Correlation<T>& c) {
  if constexpr (std::is_same_v<T, float>) {
    if (getenv("NOPANEL")) return false;
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
