#include "cpu/conv2d.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of the source that a block should take: they stay in the second-level cache.
constexpr Size cache_floats = Size{1} << 17;
/// The most that one task may pack.
constexpr Size most_floats = Size{1} << 32;
constexpr Size parallel_threshold = 1 << 18;
/// Filters that one run computes before its results leave the first-level cache.
constexpr Size run_filters = 8;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

Size phase_index(std::vector<Size>& phases, Size phase) {
  const auto found = std::find(phases.begin(), phases.end(), phase);
  if (found != phases.end()) return found - phases.begin();
  phases.push_back(phase);
  return static_cast<Size>(phases.size()) - 1;
}

/// A row of the source from `first` in steps, zeros where the row has nothing.
template <class T>
void pack_row(const T* row, Size size, Size first, Size step, float* to, Size width) {
  const Size begin = std::min(width, first >= 0 ? 0 : ceil_div(-first, step));
  const Size end = first >= size ? begin : std::clamp(ceil_div(size - first, step), begin, width);
  std::fill_n(to, begin, 0.0f);
  if (step == 1 && begin < end) {
    to_float32(row + first + begin, to + begin, static_cast<std::size_t>(end - begin));
  } else {
    constexpr Size chunk = 64;
    T gathered[chunk];
    for (Size x = begin; x < end; x += chunk) {
      const Size count = std::min(chunk, end - x);
      for (Size i = 0; i < count; ++i) gathered[i] = row[first + (x + i) * step];
      to_float32(gathered, to + x, static_cast<std::size_t>(count));
    }
  }
  std::fill_n(to + end, width - end, 0.0f);
}

/// A row of results to its targets: `count` grid columns from `column` on.
template <class T>
void unpack_row(const float* results, const ConvAxis& axis, Size offset, Size column, Size count,
                T* target) {
  const Size first = axis.target_step * column + offset - axis.target_origin;
  const Size begin = std::min(count, first >= 0 ? 0 : ceil_div(-first, axis.target_step));
  const Size end =
      first >= axis.target_size
          ? begin
          : std::clamp(ceil_div(axis.target_size - first, axis.target_step), begin, count);
  if (axis.target_step == 1 && begin < end) {
    from_float32(results + begin, target + first + begin, static_cast<std::size_t>(end - begin));
    return;
  }
  constexpr Size chunk = 64;
  T converted[chunk];
  for (Size x = begin; x < end; x += chunk) {
    const Size part = std::min(chunk, end - x);
    from_float32(results + x, converted, static_cast<std::size_t>(part));
    for (Size i = 0; i < part; ++i) target[first + (x + i) * axis.target_step] = converted[i];
  }
}

/// The taps of one pair of target phases.
struct PhaseTaps {
  Size row_offset, column_offset;
  std::vector<Tap> taps;
};

template <class T>
std::vector<PhaseTaps> phase_taps(const Correlation<T>& c, const ConvPlanes& planes) {
  std::vector<PhaseTaps> all;
  for (const TargetPhase& row_phase : c.rows.target_phases) {
    for (const TargetPhase& column_phase : c.columns.target_phases) {
      PhaseTaps phase{row_phase.offset, column_phase.offset, {}};
      for (const AxisTap& row : row_phase.taps) {
        for (const AxisTap& column : column_phase.taps) {
          phase.taps.push_back({planes.offset(c.rows, c.columns, row, column),
                                row.index * c.row_stride + column.index});
        }
      }
      all.push_back(std::move(phase));
    }
  }
  return all;
}

/// A whole correlation, cut into tasks: blocks of the grid of each image and group, and where these
/// are too few, parts of the filters.
template <class T>
class Runner {
 public:
  explicit Runner(const Correlation<T>& c)
      : c_(c),
        size_(cut(c)),
        planes_(c.rows, c.columns, size_.rows, size_.columns),
        row_blocks_(ceil_div(c.rows.size(), size_.rows)),
        column_blocks_(ceil_div(c.columns.size(), size_.columns)) {
    if (reads_directly()) {
      planes_.width = c.columns.source_size;
      planes_.channel_stride = c.rows.source_size * c.columns.source_size;
      direct_ = true;
    } else {
      packed_ = packed_size(planes_, c.channels);
    }
    stores_directly_ = sizeof(T) == sizeof(float) && is_identity(c.rows) &&
                       is_identity(c.columns) && planes_.width == c.columns.target_size &&
                       column_blocks_ == 1 && (direct_ || smallest_run() >= lanes());
    phases_ = phase_taps(c, planes_);
    const Size tasks = c.batch * c.groups * row_blocks_ * column_blocks_;
    const Size threads = is_small(c) ? 1 : static_cast<Size>(thread_count());
    filter_parts_ = std::clamp<Size>(ceil_div(threads, tasks), 1, ceil_div(c.filters, run_filters));
    part_filters_ = ceil_div(ceil_div(c.filters, filter_parts_), run_filters) * run_filters;
    filter_parts_ = ceil_div(c.filters, part_filters_);
  }

  void run() const {
    const Size tasks = c_.batch * c_.groups * row_blocks_ * column_blocks_ * filter_parts_;
    const Size group = is_small(c_) ? tasks : tasks / (16 * static_cast<Size>(thread_count())) + 1;
    parallel_tasks(static_cast<std::size_t>(ceil_div(tasks, group)), [&](std::size_t index) {
      const Size first = static_cast<Size>(index) * group;
      for (Size task = first; task < std::min(tasks, first + group); ++task) run_task(task);
    });
  }

 private:
  static Size lanes() { return static_cast<Size>(kernels().simd_width); }
  static Size work(const Correlation<T>& c) {
    return c.rows.size() * c.columns.size() * c.channels * c.filters;
  }
  static bool is_small(const Correlation<T>& c) {
    return work(c) * c.batch * c.groups < parallel_threshold;
  }
  static bool is_identity(const ConvAxis& axis) {
    return axis.target_step == 1 && axis.begin == axis.target_origin &&
           axis.size() == axis.target_size;
  }
  static ConvBlock cut(const Correlation<T>& c) {
    const Size threads = is_small(c) ? 1 : static_cast<Size>(thread_count());
    return block_size(c.rows, c.columns, c.channels,
                      threads == 1 ? 1 : ceil_div(2 * threads, c.batch * c.groups));
  }

  Size smallest_run() const {
    const Size rows = c_.rows.size() - (row_blocks_ - 1) * size_.rows;
    const Size columns = c_.columns.size() - (column_blocks_ - 1) * size_.columns;
    return (rows - 1) * planes_.width + columns;
  }

  /// Whether the source itself can serve as the planes.
  bool reads_directly() const {
    return sizeof(T) == sizeof(float) && c_.rows.is_plain() && c_.columns.is_plain() &&
           column_blocks_ == 1 && smallest_run() >= lanes();
  }

  void run_task(Size task) const {
    const Size part = task % filter_parts_;
    task /= filter_parts_;
    ConvBlock block = size_;
    block.column = c_.columns.begin + task % column_blocks_ * size_.columns;
    block.columns = std::min(size_.columns, c_.columns.end - block.column);
    task /= column_blocks_;
    block.row = c_.rows.begin + task % row_blocks_ * size_.rows;
    block.rows = std::min(size_.rows, c_.rows.end - block.row);
    task /= row_blocks_;
    const Size group = task % c_.groups, image = task / c_.groups;

    const Size plane = c_.rows.source_size * c_.columns.source_size;
    const T* const source = c_.source + (image * c_.groups + group) * c_.channels * plane;
    const Size target_plane = c_.rows.target_size * c_.columns.target_size;
    T* const target = c_.target + (image * c_.groups + group) * c_.filters * target_plane;
    const auto positions = static_cast<std::size_t>(
        direct_ ? planes_.positions(block) : std::max(planes_.positions(block), lanes()));

    Scratch scratch(Scratch::rounded(packed_) +
                    Scratch::rounded(stores_directly_ ? 0 : run_filters * positions));
    TapProduct product{};
    if constexpr (sizeof(T) == sizeof(float)) {
      product.input = source +
                      (block.row + c_.rows.min_shift - c_.rows.source_origin) * planes_.width +
                      block.column + c_.columns.min_shift - c_.columns.source_origin;
    }
    if (!direct_) {
      float* const packed = scratch.take(packed_);
      pack_planes(c_.rows, c_.columns, planes_, block, source, c_.channels, packed);
      product.input = packed;
    }
    product.input_stride = static_cast<std::size_t>(planes_.channel_stride);
    product.channels = static_cast<std::size_t>(c_.channels);
    product.filter_stride = static_cast<std::size_t>(c_.filter_stride);
    product.weight_stride = static_cast<std::size_t>(c_.channel_stride);
    product.positions = positions;
    float* const results = stores_directly_ ? nullptr : scratch.take(run_filters * positions);

    const Size last = std::min(c_.filters, (part + 1) * part_filters_);
    for (Size filter = part * part_filters_; filter < last; filter += run_filters) {
      product.filters = static_cast<std::size_t>(std::min(run_filters, last - filter));
      product.weights = c_.weights + group * c_.group_stride + filter * c_.filter_stride;
      product.start = c_.start != nullptr ? c_.start + group * c_.filters + filter : nullptr;
      T* const planes_of_target = target + filter * target_plane;
      for (const PhaseTaps& phase : phases_) {
        product.taps = phase.taps.data();
        product.tap_count = phase.taps.size();
        if constexpr (sizeof(T) == sizeof(float)) {
          if (stores_directly_) {
            product.output = planes_of_target + (block.row - c_.rows.begin) * planes_.width;
            product.output_stride = static_cast<std::size_t>(target_plane);
            kernels().linear.tap_product(product);
            continue;
          }
        }
        product.output = results;
        product.output_stride = positions;
        kernels().linear.tap_product(product);
        unpack(product, phase, block, planes_of_target, target_plane);
      }
    }
  }

  void unpack(const TapProduct& product, const PhaseTaps& phase, const ConvBlock& block, T* target,
              Size target_plane) const {
    for (std::size_t f = 0; f < product.filters; ++f) {
      for (Size i = 0; i < block.rows; ++i) {
        const Size row =
            c_.rows.target_step * (block.row + i) + phase.row_offset - c_.rows.target_origin;
        if (row < 0 || row >= c_.rows.target_size) continue;
        unpack_row(product.output + f * product.output_stride + i * planes_.width, c_.columns,
                   phase.column_offset, block.column, block.columns,
                   target + static_cast<Size>(f) * target_plane + row * c_.columns.target_size);
      }
    }
  }

  const Correlation<T>& c_;
  ConvBlock size_;
  ConvPlanes planes_;
  Size row_blocks_, column_blocks_;
  Size filter_parts_ = 1, part_filters_ = 0;
  bool direct_ = false, stores_directly_ = false;
  std::size_t packed_ = 0;
  std::vector<PhaseTaps> phases_;
};

}  // namespace

const float* as_float32(const AllocationRef& buffer, Size n, DType dtype, MemoryPool& pool,
                        AllocationRef& keep) {
  if (dtype == DType::float32) return data<float>(buffer);
  keep = pool.allocate(static_cast<std::uint64_t>(n) * sizeof(float));
  const Half* const from = data<Half>(buffer);
  float* const to = data<float>(keep);
  parallel_for(static_cast<std::size_t>(n), 1 << 15, [&](std::size_t begin, std::size_t end) {
    to_float32(from + begin, to + begin, end - begin);
  });
  return to;
}

bool ConvAxis::is_plain() const {
  return source_step == 1 && begin + min_shift >= source_origin &&
         end - 1 + max_shift - source_origin < source_size;
}

ConvAxis ConvAxis::forward(Size input, Size filter, Size output, Size stride, Size pad,
                           Size dilation) {
  ConvAxis axis{input, stride, pad, output, 1, 0, 0, output, 0, 0, {}, {}};
  TargetPhase phase{0, {}};
  for (Size r = 0; r < filter; ++r) {
    const Size shift = r * dilation / stride;
    phase.taps.push_back({shift, phase_index(axis.source_phases, r * dilation % stride), r});
    axis.max_shift = shift;
  }
  axis.target_phases.push_back(std::move(phase));
  return axis;
}

ConvAxis ConvAxis::backward(Size input, Size filter, Size output, Size stride, Size pad,
                            Size dilation) {
  ConvAxis axis{output, 1, 0,  input, stride, pad, pad / stride, (input - 1 + pad) / stride + 1,
                0,      0, {}, {}};
  axis.source_phases.push_back(0);
  axis.min_shift = -(filter - 1) * dilation / stride;
  for (Size i = 0; i < std::min(input, stride); ++i) {
    TargetPhase phase{(i + pad) % stride, {}};
    for (Size r = 0; r < filter; ++r) {
      const Size past = r * dilation - phase.offset;
      if (past % stride == 0 && r * dilation % stride == phase.offset) {
        phase.taps.push_back({-past / stride, 0, r});
      }
    }
    axis.target_phases.push_back(std::move(phase));
  }
  return axis;
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
  const double floats = static_cast<double>(planes.channel_stride) * static_cast<double>(channels);
  if (floats > static_cast<double>(most_floats)) {
    throw Unsupported(text("conv2d: one row of outputs reads ", floats,
                           " padded inputs, more than the ", most_floats,
                           " that the cpu backend can lay out"));
  }
  return static_cast<std::size_t>(planes.channel_stride * channels) + 64;
}

ConvBlock block_size(const ConvAxis& row_axis, const ConvAxis& column_axis, Size channels,
                     Size tasks) {
  constexpr Size fewest_rows = 4, fewest_columns = 48;
  const Size planes = channels * static_cast<Size>(row_axis.source_phases.size() *
                                                   column_axis.source_phases.size());
  Size rows = cache_floats / (planes * (column_axis.size() + column_axis.span())) - row_axis.span();
  rows = std::clamp<Size>(rows, std::min(fewest_rows, row_axis.size()), row_axis.size());
  const Size blocks = std::max(ceil_div(row_axis.size(), rows), tasks);
  rows = std::clamp<Size>(ceil_div(row_axis.size(), blocks), std::min(fewest_rows, rows), rows);
  Size columns = column_axis.size();
  if (planes * (rows + row_axis.span()) * (columns + column_axis.span()) > 8 * cache_floats) {
    columns = 8 * cache_floats / (planes * (rows + row_axis.span())) - column_axis.span();
    columns =
        std::clamp<Size>(columns, std::min(fewest_columns, column_axis.size()), column_axis.size());
  }
  return {0, 0, rows, columns};
}

template <class T>
void pack_planes(const ConvAxis& row_axis, const ConvAxis& column_axis, const ConvPlanes& planes,
                 const ConvBlock& block, const T* source, Size channels, float* to) {
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
void correlate(const Correlation<T>& correlation) {
  Runner<T>(correlation).run();
}

template void correlate(const Correlation<float>&);
template void correlate(const Correlation<Half>&);

}  // namespace tilewright::cpu
