#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Positions of a panel: three vectors of sixteen, or six of eight.
constexpr Size panel_positions = 48;
/// Floats of planes and rows of a panel, which stay in the second-level cache.
constexpr double most_planes = 1 << 17;
constexpr Size most_panel = 1 << 12;
/// Rows of panels that stay in the first-level cache, for short vectors, of which a tile has few
/// filters to read them for; from how many on panels are parted into such.
constexpr Size near_panel = 128, least_parted = 256;
/// With fewer, what is laid out serves too little.
constexpr Size least_filters = 5;
/// Filters whose results lie in a panel's own memory at a time.
constexpr Size run_filters = 32;
/// Filters that a task should have at least.
constexpr Size part_filters = 32;
/// Positions that are worth joining images for.
constexpr Size joined_positions = 384;
constexpr double worth_joining = 0.98;
/// What a weight that is laid out takes, in products of a float and a weight.
constexpr double weight_cost = 40;
/// What a vector of results that is copied takes, in products of a vector and a weight.
constexpr double result_cost = 6;
/// The same where it is stored in steps.
constexpr double strided_cost = 20;
/// What a panel takes beside, in cycles.
constexpr double panel_cost = 1000;

/// The targets of a pair of phases.
struct Phase {
  GridRange rows, columns;
  Size row_offset, column_offset;
  std::vector<std::ptrdiff_t> taps;
  std::vector<Size> weights;  ///< where each tap's is
  Size packed = -1;           ///< where the weights are laid out, if they are
};

/// Images whose grids are walked as one, or some rows of one image's.
struct Unit {
  Size group, image, images;
  GridRange rows;
};

/// Some neighbours in a row of targets.
struct Piece {
  Size image, row, column, at, count;
};

template <class T>
class Panels {
 public:
  explicit Panels(const Correlation<T>& c)
      : c_(c),
        block_(block_size(c.rows, c.columns, c.channels, 1)),
        planes_(c.rows, c.columns, block_.rows, block_.columns),
        plane_floats_(planes_.channel_stride * c.channels) {
    for (const TargetPhase& row_phase : c.rows.target_phases) {
      for (const TargetPhase& column_phase : c.columns.target_phases) {
        add_phase(row_phase, column_phase);
      }
    }
    join_images();
    part_channels_ = std::max<Size>(c.channels, 1);
    const Size deep = c.channels * most_taps_;
    if (deep > (lanes() <= 8 ? least_parted : most_panel)) {
      const Size parts = ceil_div(deep, lanes() <= 8 ? near_panel : most_panel);
      part_channels_ = ceil_div(part_channels_, std::min(part_channels_, parts));
    }
    if (part_channels_ < c.channels) ones_.assign(size(c.filters), 1.0f);
  }

  /// Whether it is work for panels at all.
  bool is_possible() const {
    return block_.columns == c_.columns.size() && c_.filters >= least_filters &&
           static_cast<double>(plane_floats_) <= most_planes && most_taps_ <= most_panel;
  }

  /// Of the weights laid out and of one task.
  double bytes() const {
    return static_cast<double>(sizeof(float)) *
           (static_cast<double>(packed_weights_) + static_cast<double>(unit_floats()) +
            static_cast<double>(panel_floats() + result_floats()));
  }

  /// In products of a vector and a weight.
  double cost() const {
    const double filters = static_cast<double>(c_.filters);
    double all = 0;
    for (const Phase& phase : phases_) {
      const Size deep = c_.channels * static_cast<Size>(phase.taps.size());
      const Size row_blocks = ceil_div(c_.rows.size(), block_.rows);
      const Size positions =
          images_ * ceil_div(phase.rows.size(), row_blocks) * phase.columns.size();
      const double units = static_cast<double>(c_.batch) / static_cast<double>(images_) *
                           static_cast<double>(row_blocks);
      const double vectors = static_cast<double>(ceil_div(positions, lanes()));
      const double rows =
          static_cast<double>(positions) / static_cast<double>(phase.columns.size());
      const Size columns = std::min(phase.columns.size(), panel_positions);
      const double runs = rows * static_cast<double>(ceil_div(columns, copy_length(columns))) +
                          static_cast<double>(ceil_div(positions, panel_positions));
      all += units * static_cast<double>(deep) *
             (product_cost(c_.filters, std::max(positions, lanes())) + runs * copy_cost());
      all += units * static_cast<double>(panels_of(positions)) * panel_cost * product_cycle();
      if (c_.columns.target_step > 1) {
        all += units * filters * vectors * strided_cost;
      } else if (!stores_directly()) {
        all += units * filters * (vectors + rows) * result_cost;
      }
    }
    all += static_cast<double>(c_.batch * ceil_div(c_.rows.size(), block_.rows) * plane_floats_) /
           static_cast<double>(lanes()) * pack_cost;
    return all * static_cast<double>(c_.groups) +
           static_cast<double>(packed_weights_) * weight_cost / static_cast<double>(lanes());
  }

  void run(bool is_small) {
    pack_weights();
    const Size row_blocks = ceil_div(c_.rows.size(), block_.rows);
    std::vector<Unit> units;
    for (Size group = 0; group < c_.groups; ++group) {
      for (Size image = 0; image < c_.batch; image += images_) {
        for (Size i = 0; i < row_blocks; ++i) {
          const Size row = c_.rows.begin + i * block_.rows;
          units.push_back({group,
                           image,
                           std::min(images_, c_.batch - image),
                           {row, std::min(row + block_.rows, c_.rows.end)}});
        }
      }
    }
    const Size count = static_cast<Size>(units.size());
    const Size threads = is_small ? 1 : static_cast<Size>(thread_count());
    // Few units are shared panel by panel, and then filter by filter.
    const Size wanted = threads == 1 ? 1 : ceil_div(2 * threads, count);
    const Size panel_parts = std::clamp<Size>(wanted, 1, panels_of(units[0]));
    const Size wanted_filters =
        std::max(part_filters, ceil_div(c_.filters, ceil_div(wanted, panel_parts)));
    const Size filters = ceil_div(std::min(wanted_filters, c_.filters), 8) * 8;
    const Size filter_parts = ceil_div(c_.filters, filters);
    const Size parts = panel_parts * filter_parts, tasks = count * parts;
    const Size group = is_small ? tasks : tasks / (16 * threads) + 1;
    OpScratch all(c_.pool, c_.op,
                  Scratch::rounded(unit_floats()) + Scratch::rounded(size(panel_floats())) +
                      Scratch::rounded(size(result_floats())),
                  size(ceil_div(tasks, group)));
    parallel_tasks(size(ceil_div(tasks, group)), [&](std::size_t index) {
      Scratch scratch(all);
      const Memory memory{scratch.take(unit_floats()), scratch.take(size(panel_floats())),
                          scratch.take(size(result_floats()))};
      const Size first = static_cast<Size>(index) * group;
      for (Size task = first; task < std::min(tasks, first + group); ++task) {
        const Size part = task % parts, begin = part / panel_parts * filters;
        run_unit(units[size(task / parts)], part % panel_parts, panel_parts, begin,
                 std::min(filters, c_.filters - begin), memory);
      }
    });
  }

 private:
  struct Memory {
    float *planes, *panel, *results;
  };

  /// The last panel takes what is left beyond whole vectors.
  static Size width() { return panel_positions + 16; }
  Size panel_floats() const { return part_channels_ * most_taps_ * width() + 16; }
  /// Sums of parts of the channels wait for the others.
  Size result_floats() const {
    return (ones_.empty() ? std::min(run_filters, c_.filters) : c_.filters) * width();
  }
  std::size_t unit_floats() const { return size(images_ * plane_floats_) + 64; }

  void add_phase(const TargetPhase& row_phase, const TargetPhase& column_phase) {
    Phase phase{c_.rows.targets_at(row_phase.offset),
                c_.columns.targets_at(column_phase.offset),
                row_phase.offset,
                column_phase.offset,
                {},
                {}};
    if (phase.rows.size() == 0 || phase.columns.size() == 0) return;
    for (const AxisTap& row : row_phase.taps) {
      for (const AxisTap& column : column_phase.taps) {
        phase.taps.push_back(planes_.offset(c_.rows, c_.columns, row, column));
        phase.weights.push_back(row.index * c_.row_stride + column.index);
      }
    }
    const Size taps = static_cast<Size>(phase.taps.size());
    most_taps_ = std::max(most_taps_, taps);
    bool in_order = c_.channel_stride == taps || taps == 0;
    for (Size i = 0; i < taps; ++i) in_order = in_order && phase.weights[size(i)] == i;
    if (!in_order) {
      phase.packed = packed_weights_;
      packed_weights_ += c_.groups * c_.filters * c_.channels * taps;
    }
    phases_.push_back(std::move(phase));
  }

  /// Few positions are walked over several images: fewer vectors are left with a part.
  void join_images() {
    if (block_.rows < c_.rows.size()) return;
    Size positions = 0;
    for (const Phase& phase : phases_) {
      positions = std::max(positions, phase.rows.size() * phase.columns.size());
    }
    Size floats = plane_floats_;
    // Each phase of a stride comes back to the targets.
    if (phases_.size() > 1) {
      floats = std::max(floats, c_.filters * c_.rows.target_size * c_.columns.target_size);
    }
    const Size room = static_cast<Size>(most_planes) / std::max<Size>(floats, 1);
    const Size wanted = ceil_div(joined_positions, std::max<Size>(positions, 1));
    const Size most = std::clamp<Size>(std::min(room, wanted), 1, c_.batch);
    double least = std::numeric_limits<double>::infinity();
    for (Size images = 1; images <= most; ++images) {
      const double vectors =
          static_cast<double>(c_.batch / images * ceil_div(images * positions, lanes()) +
                              ceil_div(c_.batch % images * positions, lanes()));
      if (vectors >= worth_joining * least) continue;
      least = vectors;
      images_ = images;
    }
  }

  bool stores_directly() const {
    const auto is_identity = [](const ConvAxis& axis) {
      return axis.target_step == 1 && axis.begin == axis.target_origin &&
             axis.size() == axis.target_size;
    };
    return sizeof(T) == sizeof(float) && is_identity(c_.rows) && is_identity(c_.columns) &&
           images_ == 1;
  }

  void pack_weights() {
    if (packed_weights_ == 0) return;
    weights_ = c_.pool.scratch(c_.op, static_cast<std::uint64_t>(packed_weights_) * sizeof(float));
    for (const Phase& phase : phases_) {
      if (phase.packed < 0) continue;
      const Size taps = static_cast<Size>(phase.taps.size());
      float* const to = data<float>(weights_) + phase.packed;
      parallel_for(size(c_.groups * c_.filters), 1 + (1 << 15) / size(c_.channels * taps + 1),
                   [&](std::size_t begin, std::size_t end) {
                     for (Size i = static_cast<Size>(begin); i < static_cast<Size>(end); ++i) {
                       const float* const from = c_.weights + i / c_.filters * c_.group_stride +
                                                 i % c_.filters * c_.filter_stride;
                       float* own = to + i * c_.channels * taps;
                       for (Size channel = 0; channel < c_.channels; ++channel) {
                         const float* const row = from + channel * c_.channel_stride;
                         for (const Size at : phase.weights) *own++ = row[at];
                       }
                     }
                   });
    }
  }

  GridRange rows_of(const Unit& unit, const Phase& phase) const {
    return {std::max(unit.rows.begin, phase.rows.begin), std::min(unit.rows.end, phase.rows.end)};
  }
  Size positions_of(const Unit& unit, const Phase& phase) const {
    return unit.images * rows_of(unit, phase).size() * phase.columns.size();
  }
  static Size panels_of(Size positions) {
    if (positions == 0) return 0;
    return std::max<Size>(1, ceil_div(positions / lanes(), panel_positions / lanes()));
  }
  Size panels_of(const Unit& unit) const {
    Size all = 0;
    for (const Phase& phase : phases_) all += panels_of(positions_of(unit, phase));
    return std::max<Size>(all, 1);
  }

  void run_unit(const Unit& unit, Size part, Size parts, Size filter, Size filters,
                const Memory& memory) const {
    const Size plane = c_.rows.source_size * c_.columns.source_size;
    const ConvBlock block{unit.rows.begin, c_.columns.begin, unit.rows.size(), c_.columns.size()};
    for (Size i = 0; i < unit.images; ++i) {
      const Size image = (unit.image + i) * c_.groups + unit.group;
      pack_planes(c_.rows, c_.columns, planes_, block, c_.source + image * c_.channels * plane,
                  c_.channels, memory.planes + i * plane_floats_);
    }
    const Size all = panels_of(unit);
    const Size first = part * all / parts, last = (part + 1) * all / parts;
    Size index = 0;
    for (const Phase& phase : phases_) {
      const Size positions = positions_of(unit, phase), panels = panels_of(positions);
      for (Size i = 0; i < panels; ++i, ++index) {
        if (index < first || index >= last) continue;
        const Size vectors = positions / lanes();
        const Size begin = i * vectors / panels * lanes();
        const Size end = i + 1 == panels ? positions : (i + 1) * vectors / panels * lanes();
        run_panel(unit, phase, begin, end, filter, filters, memory);
      }
    }
  }

  std::vector<Piece> pieces_of(const Unit& unit, const Phase& phase, Size begin, Size end) const {
    std::vector<Piece> pieces;
    const GridRange rows = rows_of(unit, phase);
    const Size width = phase.columns.size();
    for (Size i = begin; i < end;) {
      const Size row = i / width, column = i % width;
      const Size count = std::min(width - column, end - i);
      pieces.push_back({row / rows.size(), rows.begin + row % rows.size(),
                        phase.columns.begin + column, i - begin, count});
      i += count;
    }
    return pieces;
  }

  /// Whole rows of targets that follow each other are one.
  std::vector<Piece> joined(const Phase& phase, const std::vector<Piece>& pieces) const {
    if (c_.columns.target_step > 1 || c_.rows.target_step > 1 ||
        phase.columns.size() != c_.columns.target_size) {
      return pieces;
    }
    std::vector<Piece> all;
    for (const Piece& piece : pieces) {
      const bool goes_on = !all.empty() && all.back().image == piece.image;
      goes_on ? void(all.back().count += piece.count) : all.push_back(piece);
    }
    return all;
  }

  std::vector<PanelRun> runs_of(const Unit& unit, const std::vector<Piece>& pieces,
                                Size length) const {
    std::vector<PanelRun> runs;
    for (const Piece& piece : pieces) {
      const Size from = piece.image * plane_floats_ +
                        (piece.row - unit.rows.begin) * planes_.width + piece.column -
                        c_.columns.begin;
      for (Size i = 0; i < piece.count; i += length) {
        runs.push_back(
            {static_cast<std::int32_t>(from + i), static_cast<std::int32_t>(piece.at + i)});
      }
    }
    return runs;
  }

  void run_panel(const Unit& unit, const Phase& phase, Size begin, Size end, Size filter,
                 Size filters, const Memory& memory) const {
    const std::vector<Piece> pieces = pieces_of(unit, phase, begin, end);
    const Size positions = std::max(end - begin, lanes());
    const Size width = ceil_div(positions, 16) * 16;
    Size longest = 0;
    for (const Piece& piece : pieces) longest = std::max(longest, piece.count);
    const Size length = copy_length(longest);
    const std::vector<PanelRun> runs = runs_of(unit, pieces, length);
    const auto fill = [&](Size channel, Size channels) {
      conv_table().copy_runs({memory.planes + channel * planes_.channel_stride, size(channels),
                              size(planes_.channel_stride), phase.taps.data(), phase.taps.size(),
                              runs.data(), runs.size(), size(length), size(width)},
                             memory.panel);
    };
    const Size taps = static_cast<Size>(phase.taps.size());
    const std::vector<Piece> targets = joined(phase, pieces);
    const Tap tap{0, 0};
    TapProduct product{};
    product.input = memory.panel;
    product.input_stride = size(width);
    product.taps = &tap;
    product.tap_count = 1;
    product.filter_stride = phase.packed < 0 ? size(c_.filter_stride) : size(c_.channels * taps);
    const float* const weights =
        phase.packed < 0
            ? c_.weights + unit.group * c_.group_stride
            : data<float>(weights_) + phase.packed + unit.group * c_.filters * c_.channels * taps;
    product.weight_stride = 1;
    product.positions = size(positions);
    product.high = c_.activation == Activation::relu6 ? 6 : std::numeric_limits<float>::infinity();

    const Size target_plane = c_.rows.target_size * c_.columns.target_size;
    const bool is_parted = !ones_.empty();
    const bool is_direct = stores_directly() && end - begin >= lanes() && !is_parted;
    const bool is_clamped =
        (c_.activation == Activation::relu || c_.activation == Activation::relu6) &&
        (is_direct || c_.addend == nullptr);
    if (!is_parted) fill(0, c_.channels);
    const Size step = is_direct || is_parted ? filters : run_filters;
    for (Size f = filter; f < filter + filters; f += step) {
      product.filters = size(std::min(step, filter + filters - f));
      product.weights = weights + f * static_cast<Size>(product.filter_stride);
      product.start = c_.start != nullptr ? c_.start + unit.group * c_.filters + f : nullptr;
      T* const target = c_.target +
                        (unit.image * c_.groups + unit.group) * c_.filters * target_plane +
                        f * target_plane;
      product.output = memory.results;
      product.output_stride = size(width);
      if constexpr (sizeof(T) == sizeof(float)) {
        if (is_direct) {
          product.output =
              target + (unit.rows.begin - c_.rows.begin) * c_.columns.target_size + begin;
          product.output_stride = size(target_plane);
          if (c_.addend != nullptr) product.addend = c_.addend + (product.output - c_.target);
        }
      }
      // What is added to must be whole vectors.
      if (is_parted) product.positions = size(width);
      for (Size channel = 0; channel == 0 || channel < c_.channels; channel += part_channels_) {
        const Size channels = std::min(part_channels_, c_.channels - channel);
        if (is_parted) fill(channel, channels);
        product.channels = size(channels * taps);
        product.is_clamped = is_clamped && channel + channels == c_.channels;
        kernels().linear.tap_product(product);
        product.weights += channels * taps;
        product.start = nullptr;
        product.kept = ones_.data();
      }
      product.kept = nullptr;
      product.is_clamped = is_clamped;
      if (is_direct || c_.addend == nullptr) activate(product);
      if (!is_direct) {
        for (const Piece& piece : targets) put(phase, piece, product, target);
      }
    }
  }

  void activate(const TapProduct& product) const {
    if (c_.activation == Activation::none || product.is_clamped) return;
    for (std::size_t f = 0; f < product.filters; ++f) {
      kernels().activate(c_.activation, c_.slope, product.output + f * product.output_stride,
                         product.positions);
    }
  }

  void put(const Phase& phase, const Piece& piece, const TapProduct& product, T* target) const {
    const Size target_plane = c_.rows.target_size * c_.columns.target_size;
    const Size step = c_.columns.target_step;
    const Size row = c_.rows.target_step * piece.row + phase.row_offset - c_.rows.target_origin;
    const Size column = step * piece.column + phase.column_offset - c_.columns.target_origin;
    T* to = target + piece.image * c_.groups * c_.filters * target_plane +
            row * c_.columns.target_size + column;
    float* from = product.output + piece.at;
    for (std::size_t f = 0; f < product.filters; ++f) {
      if (c_.addend != nullptr) {
        end_sums(c_.addend + (to - c_.target), c_.activation, c_.slope, from, piece.count);
      }
      put_row(from, to, piece.count, step);
      from += product.output_stride;
      to += target_plane;
    }
  }

  static void put_row(const float* from, T* to, Size count, Size step) {
    if (step != 1) {
      T converted[panel_positions + 16];
      from_float32(from, converted, size(count));
      for (Size i = 0; i < count; ++i) to[i * step] = converted[i];
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      // The last one goes back to end where the row ends.
      constexpr Size length = 8;
      if (count >= length) {
        for (Size i = 0; i < count; i += length) {
          const Size at = std::min(i, count - length);
          std::copy_n(from + at, length, to + at);
        }
      } else {
        for (Size i = 0; i < count; ++i) to[i] = from[i];
      }
    } else {
      from_float32(from, to, size(count));
    }
  }

  const Correlation<T>& c_;
  ConvBlock block_;
  ConvPlanes planes_;
  Size plane_floats_;  ///< of an image
  Size images_ = 1;    ///< of a unit
  Size most_taps_ = 0, packed_weights_ = 0;
  std::vector<Phase> phases_;
  Size part_channels_ = 1;   ///< that a panel has room for
  std::vector<float> ones_;  ///< where channels are parted: what is kept of the sums before
  AllocationRef weights_;
};

}  // namespace

template <class T>
double cost_by_panels(const Correlation<T>& c) {
  return cost_in(c.pool, Panels<T>(c));
}

template <class T>
void correlate_by_panels(const Correlation<T>& c, bool is_small) {
  Panels<T>(c).run(is_small);
}

template double cost_by_panels(const Correlation<float>&);
template double cost_by_panels(const Correlation<Half>&);
template void correlate_by_panels(const Correlation<float>&, bool);
template void correlate_by_panels(const Correlation<Half>&, bool);

}  // namespace tilewright::cpu
