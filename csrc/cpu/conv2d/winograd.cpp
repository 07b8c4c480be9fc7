#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr Size factors = winograd_factors, group_filters = winograd_group;
constexpr Size together = winograd_together;

/// Fewer make sums of few terms, in which the rounding of sums of pixels and taps would show.
constexpr Size least_channels = 32;
constexpr double least_products = 1 << 20;
/// Tiles of a block, and floats of their factors, which stay in the second-level cache.
constexpr Size most_tiles = 48, most_floats = Size{1} << 18;
/// Floats of factors that are kept at most.
constexpr double most_kept = 1 << 25;
/// Channels whose taps are laid out at a time.
constexpr Size channels_at_once = 32;
/// Columns and rows that fit the kernels' indices.
constexpr Size most_places = 1 << 24;

Size rounded(Size n) { return ceil_div(n, 16) * 16; }
/// From one factor's floats to the next one's, which must not meet in a cache.
Size apart(Size floats) { return ceil_div(floats, 32) * 32 + 16; }

/// An axis whose three taps see neighbours of the source, in steps of one.
struct TapsOfThree {
  Size first;                 ///< the source's index of the first target's first tap
  std::array<Size, 3> index;  ///< of each tap in the filter, in the order of what they see
  Size targets, tiles, sources;
};

std::optional<TapsOfThree> taps_of_three(const ConvAxis& axis) {
  const bool is_plain = axis.source_step == 1 && axis.target_step == 1 &&
                        axis.source_phases.size() == 1 && axis.target_phases.size() == 1 &&
                        axis.span() == 2 && axis.begin == axis.target_origin &&
                        axis.size() == axis.target_size;
  if (!is_plain) return std::nullopt;
  const TargetPhase& phase = axis.target_phases[0];
  if (phase.taps.size() != 3 || phase.offset != 0) return std::nullopt;
  TapsOfThree of{axis.begin + axis.min_shift + axis.source_phases[0] - axis.source_origin,
                 {},
                 axis.target_size,
                 ceil_div(axis.target_size, 2),
                 axis.source_size};
  for (const AxisTap& tap : phase.taps) of.index[size(tap.shift - axis.min_shift)] = tap.index;
  if (std::abs(of.first) > most_places || of.targets > most_places || of.sources > most_places) {
    return std::nullopt;
  }
  return of;
}

/// Multiply-adds of the sum over windows and of the products of factors, with what it takes to make
/// factors and outputs of these.
bool pays(double channels, Size own_filters, double batch, const TapsOfThree& rows,
          const TapsOfThree& columns, double images_cost) {
  constexpr double of_patch = 100, of_filter = 250, least_of_patch = 60;
  const double tiles = batch * static_cast<double>(rows.tiles * columns.tiles);
  const auto filters = static_cast<double>(ceil_div(own_filters, together) * together);
  const double direct = 9 * channels * static_cast<double>(own_filters) * batch *
                        static_cast<double>(rows.targets * columns.targets);
  const double products = channels * filters * (static_cast<double>(factors) * tiles + of_filter);
  if (direct <= least_products || products + of_patch * tiles * (channels + filters) >= direct) {
    return false;
  }
  // Short lines of tiles leave most of a vector unused.
  const Size lanes = static_cast<Size>(kernels().simd_width);
  const double of_line = of_patch * static_cast<double>(ceil_div(columns.tiles, lanes) * lanes) /
                         static_cast<double>(columns.tiles);
  return products + (least_of_patch + of_line) * tiles * (channels + filters) <
         images_cost * static_cast<double>(lanes);
}

/// Tiles of all images in blocks, each with its factors: by factor and channel, tiles side by side.
/// Filters in groups of 16. Either has all its factors made first, that which takes less room; the
/// other's are made where they are used.
template <class T>
class Products {
 public:
  Products(const Correlation<T>& c, const TapsOfThree& rows, const TapsOfThree& columns)
      : c_(c), rows_(rows), columns_(columns) {
    const Size lanes = static_cast<Size>(kernels().simd_width);
    const Size tiles = c.batch * rows.tiles * columns.tiles;
    // Few tiles beyond whole vectors are multiplied one by one.
    const Size over = tiles % lanes;
    const Size vectors = std::max<Size>(tiles / lanes + (2 * over > lanes ? 1 : 0), 1);
    const Size most =
        std::clamp(most_floats / (factors * c.channels * lanes), Size{1}, most_tiles / lanes);
    const Size threads = static_cast<Size>(thread_count());
    blocks_ = ceil_div(vectors, most);
    if (blocks_ > threads) blocks_ = std::min(ceil_div(blocks_, threads) * threads, vectors);
    for (Size i = 0; i <= blocks_; ++i) starts_.push_back(i * vectors / blocks_ * lanes);
    tiles_ = tiles;
    groups_ = ceil_div(c.filters, group_filters);
    for (Size i = 0; i < blocks_; ++i) width_ = std::max(width_, starts_[i + 1] - starts_[i]);
    few_ = std::max<Size>(tiles - starts_.back(), 0);
    group_stride_ = apart(c.channels * group_filters);
    block_floats_ = factors * (apart(c.channels * width_) + apart(c.channels * few_));
    group_floats_ = factors * group_stride_;
    keeps_tiles_ = blocks_ * block_floats_ <= groups_ * group_floats_ || blocks_ < 2 * threads;
    product_width_ = rounded(width_ + few_) + 16;
    line_ = rounded(2 * ceil_div(columns.tiles, lanes) * lanes + 2);
    for (Size r = 0; r < 3; ++r) {
      for (Size s = 0; s < 3; ++s) {
        places_[size(r * 3 + s)] =
            static_cast<unsigned char>(rows.index[size(r)] * 3 + columns.index[size(s)]);
      }
    }
    cut();
  }

  double kept_floats() const {
    return static_cast<double>(keeps_tiles_ ? blocks_ : groups_) *
           static_cast<double>(keeps_tiles_ ? block_floats_ : group_floats_);
  }
  std::size_t task_floats() const {
    return Scratch::rounded(size(keeps_tiles_ ? group_floats_ : block_floats_)) +
           Scratch::rounded(size(factors * product_stride())) +
           Scratch::rounded(size(factors * few_ * group_filters)) + line_floats();
  }

  void run() const {
    const AllocationRef kept =
        c_.pool.scratch(c_.op, static_cast<std::uint64_t>(kept_floats()) * sizeof(float));
    OpScratch all(c_.pool, c_.op, task_floats(), size(keeps_tiles_ ? groups_ : blocks_));
    for (Size group = 0; group < c_.groups; ++group) run_group(group, data<float>(kept), all);
  }

 private:
  /// Neighbours of a row of tiles that are in one block.
  struct Segment {
    Size image, row, column, count;  ///< in tiles
    Size at;                         ///< among the block's tiles
  };
  struct Places {
    float *own, *products, *few, *lines;
  };

  Size product_stride() const { return apart(together * product_width_); }
  Size tile_stride(Size block) const { return apart(c_.channels * block_width(block)); }
  Size few_stride() const { return apart(c_.channels * few_); }
  /// Four rows with room on both sides.
  std::size_t line_floats() const { return Scratch::rounded(size(5 * line_)); }
  Places places_of(Scratch& scratch) const {
    Places places{};
    places.own = scratch.take(size(keeps_tiles_ ? group_floats_ : block_floats_));
    places.products = scratch.take(size(factors * product_stride()));
    places.few = scratch.take(size(factors * few_ * group_filters));
    places.lines = scratch.take(size(5 * line_));
    return places;
  }

  void run_group(Size group, float* kept, OpScratch& all) const {
    if (keeps_tiles_) {
      constexpr Size channels = 16;
      const Size parts = ceil_div(c_.channels, channels);
      parallel_tasks(size(blocks_ * parts), [&](std::size_t task) {
        const Size block = static_cast<Size>(task) / parts,
                   first = static_cast<Size>(task) % parts * channels;
        Scratch scratch(all);
        const Places places = places_of(scratch);
        make_tiles(group, block, first, std::min(channels, c_.channels - first),
                   kept + block * block_floats_, places.lines);
      });
      parallel_tasks(size(groups_), [&](std::size_t task) {
        Scratch scratch(all);
        const Places places = places_of(scratch);
        make_filters(group, static_cast<Size>(task), places.own);
        for (Size block = 0; block < blocks_; ++block) {
          multiply(group, static_cast<Size>(task), block, places.own, kept + block * block_floats_,
                   places);
        }
      });
      return;
    }
    parallel_tasks(size(groups_), [&](std::size_t task) {
      make_filters(group, static_cast<Size>(task), kept + static_cast<Size>(task) * group_floats_);
    });
    parallel_tasks(size(blocks_), [&](std::size_t task) {
      Scratch scratch(all);
      const Places places = places_of(scratch);
      const Size block = static_cast<Size>(task);
      make_tiles(group, block, 0, c_.channels, places.own, places.lines);
      for (Size filters = 0; filters < groups_; ++filters) {
        multiply(group, filters, block, kept + filters * group_floats_, places.own, places);
      }
    });
  }

  /// The tiles of each block by rows, cut where those begin that are multiplied one by one.
  void cut() {
    segments_.resize(size(blocks_));
    for (Size block = 0; block < blocks_; ++block) {
      const Size begin = starts_[size(block)];
      const Size end = block + 1 == blocks_ ? tiles_ : starts_[size(block + 1)];
      const Size whole = begin + block_width(block);
      for (Size tile = begin; tile < end;) {
        const Size row = tile / columns_.tiles, column = tile % columns_.tiles;
        Size count = std::min(columns_.tiles - column, end - tile);
        if (tile < whole) count = std::min(count, whole - tile);
        segments_[size(block)].push_back(
            {row / rows_.tiles, row % rows_.tiles, column, count, tile - begin});
        tile += count;
      }
    }
  }
  Size block_width(Size block) const { return starts_[size(block + 1)] - starts_[size(block)]; }

  /// The factors of a block for some channels.
  void make_tiles(Size group, Size block, Size first_channel, Size channels, float* to,
                  float* lines) const {
    const Size width = block_width(block);
    const Size stride = tile_stride(block);
    float* const zeros = lines + 4 * line_;
    std::fill_n(zeros, line_, 0.0f);
    const Size plane = rows_.sources * columns_.sources;
    const Size end = c_.batch * c_.groups * c_.channels * plane;
    if (block + 1 == blocks_ && tiles_ < starts_.back()) {
      // What is past the last tile is multiplied, too.
      for (Size t = 0; t < factors; ++t) {
        for (Size i = first_channel; i < first_channel + channels; ++i) {
          std::fill(to + t * stride + i * width + (tiles_ - starts_[size(block)]),
                    to + t * stride + (i + 1) * width, 0.0f);
        }
      }
    }
    const Size lanes = static_cast<Size>(kernels().simd_width);
    const auto input_factors = conv_table().input_factors;
    // Of the next channel, where rows are read as they lie.
    const Size ahead = sizeof(T) == sizeof(float) ? plane : 0;
    for (Size i = first_channel; i < first_channel + channels; ++i) {
      for (const Segment& segment : segments_[size(block)]) {
        const Size top = rows_.first + 2 * segment.row;
        const Size left = columns_.first + 2 * segment.column;
        const Size read = 2 * ceil_div(segment.count, lanes) * lanes + 2;
        const Size from = ((segment.image * c_.groups + group) * c_.channels + i) * plane;
        WinogradPatches patches{{}, left, columns_.sources, size(segment.count), ahead};
        for (Size r = 0; r < 4; ++r) {
          patches.rows[r] = row_of(from, top + r, left, read, end, zeros, lines + r * line_);
        }
        if (segment.at >= width) {
          input_factors(patches, to + factors * stride + i * few_ + segment.at - width,
                        size(few_stride()));
        } else {
          input_factors(patches, to + i * width + segment.at, size(stride));
        }
      }
    }
  }

  /// `read` elements of a row from `left` on, of which those count that are in the row.
  const float* row_of(Size plane, Size row, Size left, Size read, Size end, const float* zeros,
                      float* line) const {
    if (row < 0 || row >= rows_.sources) return zeros;
    const Size at = plane + row * columns_.sources + left;
    if constexpr (sizeof(T) == sizeof(float)) {
      if (at >= 0 && at + read <= end) return c_.source + at;
    }
    const Size begin = std::clamp<Size>(-left, 0, read);
    const Size stop = std::clamp<Size>(columns_.sources - left, begin, read);
    std::fill_n(line, read, 0.0f);
    if (begin < stop) to_float32(c_.source + at + begin, line + begin, size(stop - begin));
    return line;
  }

  void make_filters(Size group, Size filters, float* to) const {
    alignas(64) float taps[channels_at_once * 9 * group_filters];
    const Size first = filters * group_filters;
    const Size count = std::min(group_filters, c_.filters - first);
    if (count < group_filters) std::fill(std::begin(taps), std::end(taps), 0.0f);
    const auto transpose = kernels().linear.float32.transpose;
    for (Size i = 0; i < c_.channels; i += channels_at_once) {
      const Size channels = std::min(channels_at_once, c_.channels - i);
      const float* const from =
          c_.weights + group * c_.group_stride + first * c_.filter_stride + i * c_.channel_stride;
      if (c_.channel_stride == 9) {
        transpose(from, size(count), size(c_.filter_stride), size(9 * channels), 1, taps,
                  size(group_filters));
      } else {
        for (Size own = 0; own < channels; ++own) {
          transpose(from + own * c_.channel_stride, size(count), size(c_.filter_stride), 9, 1,
                    taps + own * 9 * group_filters, size(group_filters));
        }
      }
      conv_table().filter_factors(taps, places_.data(), size(channels), to + i * group_filters,
                                  size(group_stride_));
    }
  }

  /// One part of 32 of a group's taps, which come from far away, while another one is multiplied.
  void ask_for_taps(Size group, Size filters, Size part) const {
    constexpr Size parts = factors * group_filters / together, line = 16;
    if (c_.channel_stride != 9 || filters >= groups_) return;
    const Size each = ceil_div(9 * c_.channels, parts / group_filters);
    const Size filter = filters * group_filters + part % group_filters;
    if (filter >= c_.filters) return;
    const float* const row = c_.weights + group * c_.group_stride + filter * c_.filter_stride;
    const Size begin = part / group_filters * each;
    for (Size i = begin; i < std::min(9 * c_.channels, begin + each); i += line) {
      __builtin_prefetch(row + i, 0, 2);
    }
  }

  /// A block of tiles with a group of filters.
  void multiply(Size group, Size filters, Size block, const float* of_filters,
                const float* of_tiles, const Places& places) const {
    const Size width = block_width(block);
    const Size few = block + 1 == blocks_ ? few_ : 0;
    const Size stride = tile_stride(block);
    if (few > 0) {
      for (Size t = 0; t < factors; ++t) {
        conv_table().few_products(of_tiles + factors * stride + t * few_stride(), size(few),
                                  of_filters + t * group_stride_, size(c_.channels),
                                  places.few + t * few * group_filters);
      }
    }
    const auto tap_product = kernels().linear.tap_product;
    const Tap tap{0, 0};
    TapProduct product{};
    product.input_stride = product.positions = size(width);
    product.channels = size(c_.channels);
    product.taps = &tap;
    product.tap_count = 1;
    product.filter_stride = 1;
    product.weight_stride = size(group_filters);
    product.output_stride = size(product_width_);
    product.filters = size(together);
    const Size last = std::min(c_.filters - filters * group_filters, group_filters);
    for (Size first = 0; first < last; first += together) {
      for (Size t = 0; t < factors; ++t) {
        if (keeps_tiles_ && block == 0) {
          ask_for_taps(group, filters + 1, first / together * factors + t);
        }
        product.input = of_tiles + t * stride;
        product.weights = of_filters + t * group_stride_ + first;
        product.output = places.products + t * product_stride();
        tap_product(product);
        for (Size i = 0; i < few; ++i) {
          for (Size f = 0; f < together; ++f) {
            product.output[f * product_width_ + width + i] =
                places.few[(t * few + i) * group_filters + first + f];
          }
        }
      }
      const Size filter = filters * group_filters + first;
      const Size count = std::min(together, last - first);
      for (const Segment& segment : segments_[size(block)]) {
        for (Size f = 0; f < count; ++f) {
          store(group, filter + f, segment, places.products + f * product_width_ + segment.at,
                places.lines);
        }
      }
    }
  }

  void store(Size group, Size filter, const Segment& segment, const float* products,
             float* lines) const {
    const Size row = 2 * segment.row, column = 2 * segment.column;
    const Size columns = std::min(2 * segment.count, columns_.targets - column);
    const Size lines_of = std::min<Size>(2, rows_.targets - row);
    T* const target =
        c_.target +
        (((segment.image * c_.groups + group) * c_.filters + filter) * rows_.targets + row) *
            columns_.targets +
        column;
    const bool is_clamp = c_.addend == nullptr &&
                          (c_.activation == Activation::relu || c_.activation == Activation::relu6);
    WinogradOutputs outputs{
        products,
        size(product_stride()),
        size(columns),
        c_.start != nullptr ? c_.start[group * c_.filters + filter] : 0,
        is_clamp,
        0,
        c_.activation == Activation::relu6 ? 6 : std::numeric_limits<float>::infinity(),
        {lines, lines + line_}};
    if constexpr (sizeof(T) == sizeof(float)) {
      outputs.rows[0] = target;
      outputs.rows[1] = target + columns_.targets;
    }
    if (lines_of == 1) outputs.rows[1] = nullptr;
    const auto make_outputs = conv_table().outputs;
    const bool is_finite = make_outputs(outputs);
    if (!is_finite && is_clamp) {
      outputs.is_clamped = false;
      make_outputs(outputs);
    }
    for (Size r = 0; r < lines_of; ++r) {
      float* const own = outputs.rows[r];
      if (!is_finite) sum_again(group, filter, segment.image, row + r, column, columns, own);
      if (!(is_clamp && is_finite)) {
        const T* const addend = c_.addend != nullptr
                                    ? c_.addend + (target - c_.target) + r * columns_.targets
                                    : nullptr;
        end_sums(addend, c_.activation, c_.slope, own, columns);
      }
      if constexpr (sizeof(T) != sizeof(float)) {
        from_float32(own, target + r * columns_.targets, size(columns));
      }
    }
  }

  /// An output depends on its own window alone. Differences of infinities, and sums that overflow
  /// only in between, make it NaN or infinite where the sum over the window may not be.
  void sum_again(Size group, Size filter, Size image, Size row, Size column, Size columns,
                 float* own) const {
    for (Size i = 0; i < columns; ++i) {
      if (!std::isfinite(own[i])) own[i] = window_sum(group, filter, image, row, column + i);
    }
  }

  float window_sum(Size group, Size filter, Size image, Size row, Size column) const {
    const Size plane = rows_.sources * columns_.sources;
    double sum = c_.start != nullptr ? c_.start[group * c_.filters + filter] : 0;
    const float* const weights = c_.weights + group * c_.group_stride + filter * c_.filter_stride;
    const T* const source = c_.source + (image * c_.groups + group) * c_.channels * plane;
    for (Size i = 0; i < c_.channels && !std::isnan(sum); ++i) {
      for (Size r = 0; r < 3; ++r) {
        for (Size s = 0; s < 3; ++s) {
          const Size y = rows_.first + row + r, x = columns_.first + column + s;
          float pixel = 0;
          if (y >= 0 && y < rows_.sources && x >= 0 && x < columns_.sources) {
            to_float32(source + i * plane + y * columns_.sources + x, &pixel, 1);
          }
          sum += static_cast<double>(pixel) *
                 weights[i * c_.channel_stride + places_[size(r * 3 + s)]];
        }
      }
    }
    return static_cast<float>(sum);
  }

  const Correlation<T>& c_;
  const TapsOfThree rows_, columns_;
  Size tiles_, blocks_, groups_, width_ = 0, few_ = 0;  ///< width_: of the widest block
  Size block_floats_, group_floats_, group_stride_, product_width_, line_;
  std::vector<Size> starts_;  ///< the first tile of each block, and the first of few
  std::vector<std::vector<Segment>> segments_;
  bool keeps_tiles_;
  std::array<unsigned char, 9> places_;
};

}  // namespace

template <class T>
bool correlate_by_winograd(const Correlation<T>& c, double images_cost) {
  if (c.channels < least_channels || c.row_stride != 3) return false;
  const auto rows = taps_of_three(c.rows), columns = taps_of_three(c.columns);
  if (!rows || !columns) return false;
  if (!pays(static_cast<double>(c.channels), c.filters, static_cast<double>(c.batch), *rows,
            *columns, images_cost)) {
    return false;
  }
  const Products<T> products(c, *rows, *columns);
  const double floats = products.kept_floats() + static_cast<double>(products.task_floats());
  if (floats > most_kept ||
      floats * sizeof(float) + (1 << 16) > static_cast<double>(c.pool.scratch_room())) {
    return false;
  }
  products.run();
  return true;
}

template bool correlate_by_winograd(const Correlation<float>&, double);
template bool correlate_by_winograd(const Correlation<Half>&, double);

}  // namespace tilewright::cpu
