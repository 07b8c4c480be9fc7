#include "cpu/conv2d/conv2d.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu/convert.hpp"
#include "cpu/kernels/windows_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr double parallel_threshold = 1 << 18;
/// Filters that one run computes before its results leave the first-level cache.
constexpr Size run_filters = 8;
/// The same where they go to the target at once and all meet the same inputs.
constexpr Size direct_run_filters = 32;
/// What a row of results that is copied takes, in products of a vector.
constexpr double row_cost = 20, vector_cost = 3;
/// The same of a vector of them that is stored in steps.
constexpr double strided_cost = 20;
/// Positions of a grid that is not worth a cut where there are filters to share.
constexpr Size few_positions = 256;

/// A row of results to its targets: `count` grid columns from `column` on. `end` is given those
/// that have one side by side, and the first one's.
template <class T, class End>
void unpack_row(float* results, const ConvAxis& axis, Size offset, Size column, Size count,
                T* target, const End& end_row) {
  const Size first = axis.target_step * column + offset - axis.target_origin;
  const Size begin = std::min(count, first >= 0 ? 0 : ceil_div(-first, axis.target_step));
  const Size end =
      first >= axis.target_size
          ? begin
          : std::clamp(ceil_div(axis.target_size - first, axis.target_step), begin, count);
  if (axis.target_step == 1 && begin < end) {
    end_row(results + begin, target + first + begin, end - begin);
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
    double products = 0, vectors = 0, copied = 0;
    for (Size row = 0; row < c_.rows.size(); row += size_.rows) {
      for (Size column = 0; column < c_.columns.size(); column += size_.columns) {
        const Size rows = std::min(size_.rows, c_.rows.size() - row);
        const Size columns = std::min(size_.columns, c_.columns.size() - column);
        const Size runs = by_rows_ ? rows : 1;
        const Size positions =
            std::max(by_rows_ ? columns : planes_.positions({0, 0, rows, columns}), lanes());
        products += static_cast<double>(runs) * product_cost(c_.filters, positions);
        vectors += static_cast<double>(runs * ceil_div(positions, lanes()));
      }
    }
    double taps = 0;
    for (const PhaseTaps& phase : phases_) taps += static_cast<double>(phase.taps.size());
    if (!stores_directly_) {
      copied = (vectors * (c_.columns.target_step > 1 ? strided_cost : vector_cost) +
                static_cast<double>(c_.rows.size()) * row_cost) *
               static_cast<double>(phases_.size());
    }
    return static_cast<double>(c_.batch * c_.groups) *
           (products * taps * static_cast<double>(c_.channels) + filters * copied +
            static_cast<double>(packed_) / static_cast<double>(lanes()) * pack_cost *
                static_cast<double>(row_blocks_ * column_blocks_));
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
    product.is_clamped = is_clamp(c_.activation) && (stores_directly_ || c_.addend == nullptr);
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
            if (c_.addend != nullptr) run_of.addend = c_.addend + (run_of.output - c_.target);
            if (by_rows_) run_of.positions = static_cast<std::size_t>(block.columns);
            for (Size row = 0; row < (by_rows_ ? block.rows : 1); ++row) {
              kernels().linear.tap_product(run_of);
              activate(run_of);
              run_of.input += planes_.width;
              run_of.output += c_.columns.target_size;
              if (c_.addend != nullptr) run_of.addend += c_.columns.target_size;
            }
            continue;
          }
        }
        product.output = results;
        product.output_stride = positions;
        kernels().linear.tap_product(product);
        if (c_.addend == nullptr) activate(product);
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
    const auto end_row = [&](float* sums, const T* to, Size n) {
      if (c_.addend != nullptr) {
        end_sums(c_.addend + (to - c_.target), c_.activation, c_.slope, sums, n);
      }
    };
    for (std::size_t f = 0; f < product.filters; ++f) {
      for (Size i = 0; i < block.rows; ++i) {
        const Size row =
            c_.rows.target_step * (block.row + i) + phase.row_offset - c_.rows.target_origin;
        if (row < 0 || row >= c_.rows.target_size) continue;
        unpack_row(product.output + f * product.output_stride + i * planes_.width, c_.columns,
                   phase.column_offset, block.column, block.columns,
                   target + static_cast<Size>(f) * target_plane + row * c_.columns.target_size,
                   end_row);
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

template <class T>
void end_sums(const T* addend, Activation activation, float slope, float* sums, Size n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (addend != nullptr) {
      window_table().float32.sum_of_rows(sums, addend, sums, static_cast<std::size_t>(n));
    }
  } else if (addend != nullptr) {
    constexpr Size chunk = 64;
    float wide[chunk];
    for (Size i = 0; i < n; i += chunk) {
      const auto part = static_cast<std::size_t>(std::min(chunk, n - i));
      to_float32(addend + i, wide, part);
      window_table().float32.sum_of_rows(sums + i, wide, sums + i, part);
    }
  }
  if (activation != Activation::none) {
    kernels().activate(activation, slope, sums, static_cast<std::size_t>(n));
  }
}

template void end_sums(const float*, Activation, float, float*, Size);
template void end_sums(const Half*, Activation, float, float*, Size);

template <class T>
void correlate(Correlation<T> correlation) {
  correlation.rows.drop_unseen_taps();
  correlation.columns.drop_unseen_taps();
  const bool is_small = Runner<T>::is_small(correlation);
  if (correlate_thin(correlation, is_small)) return;
  const ImagesPlan images = plan_images(correlation);
  if (correlate_by_winograd(correlation, images.cost)) return;
  Correlation<T> parted = correlation;  // whose taps may be parted
  const Runner<T> runner(parted);
  const double of_runs = runner.cost(), of_panels = cost_by_panels(parted);
  if (images.cost < std::min(of_runs, of_panels)) {
    correlate_by_images(correlation, images, is_small);
  } else if (of_panels <= of_runs) {
    correlate_by_panels(parted, is_small);
  } else {
    runner.run();
  }
}

template void correlate(Correlation<float>);
template void correlate(Correlation<Half>);

}  // namespace tilewright::cpu
