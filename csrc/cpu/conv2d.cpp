#include "cpu/conv2d.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of the source that a block should take: they stay in the second-level cache.
constexpr Size cache_floats = Size{1} << 17;
/// What a task packs at most, except where the taps of a few positions take more.
constexpr Size most_floats = Size{1} << 22;
constexpr double parallel_threshold = 1 << 18;
/// Filters that one run computes before its results leave the first-level cache.
constexpr Size run_filters = 8;
/// The same where they go to the target at once and all meet the same inputs.
constexpr Size direct_run_filters = 32;
/// What a row of results that is copied takes, in products of a vector.
constexpr double row_cost = 12;
/// Positions of a grid that is not worth a cut where there are filters to share.
constexpr Size few_positions = 256;

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

Size phases_of(const ConvAxis& axis) { return static_cast<Size>(axis.source_phases.size()); }

/// Of packed blocks.
double floats_of(const ConvAxis& row_axis, const ConvAxis& column_axis, Size channels, Size rows,
                 Size columns) {
  return static_cast<double>(channels * phases_of(row_axis) * phases_of(column_axis)) *
         static_cast<double>(rows + row_axis.span()) *
         static_cast<double>(columns + column_axis.span());
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
  explicit Runner(Correlation<T>& c)
      : c_(c),
        size_(cut(c)),
        planes_(c.rows, c.columns, size_.rows, size_.columns),
        row_blocks_(ceil_div(c.rows.size(), size_.rows)),
        column_blocks_(ceil_div(c.columns.size(), size_.columns)) {
    if (reads_directly(c, size_)) {
      planes_.width = c.columns.source_size;
      planes_.channel_stride = c.rows.source_size * c.columns.source_size;
      direct_ = true;
    } else {
      packed_ = packed_size(planes_, c.channels);
    }
    // Rows that fill vectors as well as a run with what lies between them are runs of their own.
    const Size last_columns = (c.columns.size() - 1) % size_.columns + 1;
    by_rows_ = size_.columns >= 3 * lanes() && last_columns >= lanes() &&
               ceil_div(size_.columns, lanes()) * lanes() <= planes_.width && !direct_;
    stores_directly_ = sizeof(T) == sizeof(float) && is_identity(c.rows) && is_identity(c.columns);
    if (!by_rows_) {
      stores_directly_ = stores_directly_ && planes_.width == c.columns.target_size &&
                         column_blocks_ == 1 &&
                         (direct_ || smallest_run(c, size_, planes_.width) >= lanes());
    }
    phases_ = phase_taps(c, planes_);
    const Size tasks = c.batch * c.groups * row_blocks_ * column_blocks_;
    const Size threads = is_small(c) ? 1 : static_cast<Size>(thread_count());
    filter_parts_ = std::clamp<Size>(ceil_div(threads, tasks), 1, ceil_div(c.filters, run_filters));
    part_filters_ = ceil_div(ceil_div(c.filters, filter_parts_), run_filters) * run_filters;
    filter_parts_ = ceil_div(c.filters, part_filters_);
  }

  /// In products of a vector and a weight.
  double cost() const {
    const double filters = static_cast<double>(c_.filters);
    double vectors = 0, copied = 0;
    for (Size row = 0; row < c_.rows.size(); row += size_.rows) {
      for (Size column = 0; column < c_.columns.size(); column += size_.columns) {
        const Size rows = std::min(size_.rows, c_.rows.size() - row);
        const Size columns = std::min(size_.columns, c_.columns.size() - column);
        vectors += static_cast<double>(
            by_rows_ ? rows * ceil_div(columns, lanes())
                     : ceil_div(planes_.positions({0, 0, rows, columns}), lanes()));
      }
    }
    double taps = 0;
    for (const PhaseTaps& phase : phases_) taps += static_cast<double>(phase.taps.size());
    if (!stores_directly_) {
      copied = (vectors + static_cast<double>(c_.rows.size()) * row_cost) *
               static_cast<double>(phases_.size());
    }
    return static_cast<double>(c_.batch * c_.groups) * filters *
           (vectors * taps * static_cast<double>(c_.channels) + copied);
  }

  static bool is_small(const Correlation<T>& c) {
    return static_cast<double>(c.rows.size() * c.columns.size()) *
               static_cast<double>(c.channels * c.filters) *
               static_cast<double>(c.batch * c.groups) <
           parallel_threshold;
  }

  void run() const {
    const Size tasks = c_.batch * c_.groups * row_blocks_ * column_blocks_ * filter_parts_;
    const Size group = is_small(c_) ? tasks : tasks / (16 * static_cast<Size>(thread_count())) + 1;
    OpScratch all(c_.pool, c_.op,
                  Scratch::rounded(packed_) +
                      Scratch::rounded(stores_directly_ ? 0 : run_filters * positions_of(size_)),
                  static_cast<std::size_t>(ceil_div(tasks, group)));
    parallel_tasks(static_cast<std::size_t>(ceil_div(tasks, group)), [&](std::size_t index) {
      const Size first = static_cast<Size>(index) * group;
      for (Size task = first; task < std::min(tasks, first + group); ++task) run_task(task, all);
    });
  }

 private:
  static Size lanes() { return static_cast<Size>(kernels().simd_width); }
  static bool is_identity(const ConvAxis& axis) {
    return axis.target_step == 1 && axis.begin == axis.target_origin &&
           axis.size() == axis.target_size;
  }
  /// Whether threads better share the filters than a grid of few positions, whose parts would fill
  /// vectors less and each read all weights.
  static bool shares_filters(const Correlation<T>& c) {
    return c.rows.size() * c.columns.size() <= few_positions &&
           c.filters >= 2 * run_filters * static_cast<Size>(thread_count());
  }
  static ConvBlock cut(Correlation<T>& c) {
    const Size threads = is_small(c) || shares_filters(c) ? 1 : static_cast<Size>(thread_count());
    const Size tasks = threads == 1 ? 1 : ceil_div(2 * threads, c.batch * c.groups);
    const ConvBlock block = block_size(c.rows, c.columns, c.channels, tasks);
    if (reads_directly(c, block)) return block;
    return packed_block_size(c.rows, c.columns, c.channels, tasks);
  }

  /// The positions of the smallest block in rows so long.
  static Size smallest_run(const Correlation<T>& c, const ConvBlock& size, Size width) {
    const Size rows = (c.rows.size() - 1) % size.rows, columns = c.columns.size() - 1;
    return rows * width + columns % size.columns + 1;
  }

  /// Whether the source itself can serve as the planes.
  static bool reads_directly(const Correlation<T>& c, const ConvBlock& size) {
    return sizeof(T) == sizeof(float) && c.rows.is_plain() && c.columns.is_plain() &&
           size.columns == c.columns.size() &&
           smallest_run(c, size, c.columns.source_size) >= lanes();
  }

  std::size_t positions_of(const ConvBlock& block) const {
    return static_cast<std::size_t>(direct_ ? planes_.positions(block)
                                            : std::max(planes_.positions(block), lanes()));
  }

  void run_task(Size task, OpScratch& all) const {
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
    const std::size_t positions = positions_of(block);

    Scratch scratch(all);
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
    product.is_clamped = is_clamp(c_.activation);
    product.high = c_.activation == Activation::relu6 ? 6 : std::numeric_limits<float>::infinity();
    float* const results = stores_directly_ ? nullptr : scratch.take(run_filters * positions);

    const bool is_single = stores_directly_ && phases_.size() == 1 && phases_[0].taps.size() == 1;
    const Size run = is_single ? direct_run_filters : run_filters;
    const Size last = std::min(c_.filters, (part + 1) * part_filters_);
    for (Size filter = part * part_filters_; filter < last; filter += run) {
      product.filters = static_cast<std::size_t>(std::min(run, last - filter));
      product.weights = c_.weights + group * c_.group_stride + filter * c_.filter_stride;
      product.start = c_.start != nullptr ? c_.start + group * c_.filters + filter : nullptr;
      T* const planes_of_target = target + filter * target_plane;
      for (const PhaseTaps& phase : phases_) {
        product.taps = phase.taps.data();
        product.tap_count = phase.taps.size();
        if constexpr (sizeof(T) == sizeof(float)) {
          if (stores_directly_) {
            TapProduct run_of = product;
            run_of.output = planes_of_target +
                            (block.row - c_.rows.begin) * c_.columns.target_size + block.column -
                            c_.columns.begin;
            run_of.output_stride = static_cast<std::size_t>(target_plane);
            if (by_rows_) run_of.positions = static_cast<std::size_t>(block.columns);
            for (Size row = 0; row < (by_rows_ ? block.rows : 1); ++row) {
              kernels().linear.tap_product(run_of);
              activate(run_of);
              run_of.input += planes_.width;
              run_of.output += c_.columns.target_size;
            }
            continue;
          }
        }
        product.output = results;
        product.output_stride = positions;
        kernels().linear.tap_product(product);
        activate(product);
        unpack(product, phase, block, planes_of_target, target_plane);
      }
    }
  }

  static bool is_clamp(Activation activation) {
    return activation == Activation::relu || activation == Activation::relu6;
  }

  /// While the results are in the first-level cache; clamps come before they are stored.
  void activate(const TapProduct& product) const {
    if (c_.activation == Activation::none || product.is_clamped) return;
    for (std::size_t f = 0; f < product.filters; ++f) {
      kernels().activate(c_.activation, c_.slope, product.output + f * product.output_stride,
                         product.positions);
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
  bool direct_ = false, stores_directly_ = false, by_rows_ = false;
  std::size_t packed_ = 0;
  std::vector<PhaseTaps> phases_;
};

}  // namespace

const float* as_float32(std::string_view op, const BufferRange& buffer, Size n, DType dtype,
                        MemoryPool& pool, AllocationRef& keep) {
  if (dtype == DType::float32) return data<float>(buffer);
  keep = pool.scratch(op, static_cast<std::uint64_t>(n) * sizeof(float));
  const Half* const from = data<Half>(buffer);
  float* const to = data<float>(keep);
  parallel_for(static_cast<std::size_t>(n), 1 << 15, [&](std::size_t begin, std::size_t end) {
    to_float32(from + begin, to + begin, end - begin);
  });
  return to;
}

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

template <class T>
void correlate(Correlation<T> correlation) {
  if (correlate_by_winograd(correlation)) return;
  const Runner<T> runner(correlation);
  if (!correlate_by_panels(correlation, runner.cost(), Runner<T>::is_small(correlation))) {
    runner.run();
  }
}

template void correlate(Correlation<float>);
template void correlate(Correlation<Half>);

}  // namespace tilewright::cpu
