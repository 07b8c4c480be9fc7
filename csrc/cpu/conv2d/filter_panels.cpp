#include <algorithm>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernels/conv_table.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

/// Positions that are summed before the sums are put aside: three vectors of as many factors stay
/// in the first-level cache.
constexpr Size panel_positions = 128;
/// Rows of a panel at a time, one for each channel and tap.
constexpr Size most_rows = 512;
/// Rows that are turned at a time.
constexpr Size turned_rows = 32;
constexpr Size fewest_filters = 5, part_filters = 16;
/// Floats of planes, which stay in the second-level cache.
constexpr Size most_planes = 1 << 17;
/// What a vector that is turned takes, in products of a vector and a weight.
constexpr double turn_cost = 12;

/// To whole vectors.
Size rounded(Size n) {
  const Size lanes = static_cast<Size>(kernels().simd_width);
  return ceil_div(n, lanes) * lanes;
}

/// What each position sees through all taps of all channels, as one factor; the output gradient as
/// the other one. The factor with more rows, or which fills vectors better, is turned to have them
/// side by side.
template <class T>
class FilterPanels {
 public:
  explicit FilterPanels(const Conv2dRequest& r)
      : r_(r),
        rows_(ConvAxis::forward(axes_of(r)[0])),
        columns_(ConvAxis::forward(axes_of(r)[1])),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups),
        taps_count_(r.filter_height * r.filter_width) {
    const Size threads = static_cast<Size>(thread_count());
    part_channels_ = std::clamp<Size>(most_rows / taps_count_, 1, channels_);
    part_channels_ = std::min(part_channels_, ceil_div(channels_, ceil_div(threads, r.groups)));
    channel_parts_ = ceil_div(channels_, part_channels_);
    part_channels_ = ceil_div(channels_, channel_parts_);
    channel_parts_ = ceil_div(channels_, part_channels_);
    const Size wanted = ceil_div(threads, r.groups * channel_parts_);
    part_filters_ = std::min(filters_, std::max(part_filters, rounded(ceil_div(filters_, wanted))));
    filter_parts_ = ceil_div(filters_, part_filters_);
    block_ = block_size(rows_, columns_, part_channels_, 1);
    const bool parted_rows = rows_.part_taps(block_.rows);
    const bool parted_columns = columns_.part_taps(block_.columns);
    if (parted_rows || parted_columns) block_ = block_size(rows_, columns_, part_channels_, 1);
    const ConvPlanes planes(rows_, columns_, block_.rows, block_.columns);
    width_ = planes.width;
    channel_floats_ = planes.channel_stride;
    for (const AxisTap& row : rows_.target_phases[0].taps) {
      for (const AxisTap& column : columns_.target_phases[0].taps) {
        taps_.push_back(planes.offset(rows_, columns_, row, column));
      }
    }
    if (block_.rows == r.out_height) {
      const Size room = most_planes / std::max<Size>(image_floats(), 1);
      const Size images = ceil_div(panel_positions, r.out_height * r.out_width);
      images_ = std::clamp<Size>(std::min(room, images), 1, std::max<Size>(r.batch, 1));
    }
    const Size lanes = static_cast<Size>(kernels().simd_width);
    const auto cost = [&](Size count, Size wide) {
      return product_cost(count, rounded(wide)) +
             static_cast<double>(wide) / static_cast<double>(lanes) * turn_cost;
    };
    const Size rows = part_channels_ * taps_count_;
    is_filters_wide_ = cost(rows, part_filters_) < cost(part_filters_, rows);
    const double of_product =
        is_filters_wide_ ? cost(rows, part_filters_) : cost(part_filters_, rows);
    const Size columns = std::min(r.out_width, panel_positions);
    const double copies =
        static_cast<double>(ceil_div(columns, copy_length(columns))) / static_cast<double>(columns);
    cost_ = (of_product + static_cast<double>(rows) * copies * copy_cost()) *
            static_cast<double>(channel_parts_ * filter_parts_ * r.groups) *
            static_cast<double>(r.batch * r.out_height * r.out_width);
    const double blocks = static_cast<double>(ceil_div(r.out_height, block_.rows) * r.batch);
    cost_ += static_cast<double>(channel_parts_ * filter_parts_ * r.groups) * blocks *
             static_cast<double>(image_floats()) / static_cast<double>(lanes) * pack_cost;
  }

  bool is_possible() const {
    // One tap sees what lies side by side already.
    return taps_count_ > 1 && filters_ >= fewest_filters && block_.columns == r_.out_width &&
           image_floats() <= most_planes;
  }
  double cost() const { return cost_; }
  double bytes() const { return static_cast<double>(task_floats() * sizeof(float)); }

  void run(MemoryPool& pool) const {
    const Size tasks = r_.groups * filter_parts_ * channel_parts_;
    OpScratch all(pool, op, task_floats(), size(tasks));
    parallel_tasks(size(tasks), [&](std::size_t index) {
      const Size task = static_cast<Size>(index);
      const Size filter = task % filter_parts_ * part_filters_;
      const Size channel = task / filter_parts_ % channel_parts_ * part_channels_;
      const Part part{task / filter_parts_ / channel_parts_, filter,
                      std::min(part_filters_, filters_ - filter), channel,
                      std::min(part_channels_, channels_ - channel)};
      run_part(part, all);
    });
  }

 private:
  struct Part {
    Size group, filter, filters, channel, channels;
  };
  struct Memory {
    float *planes, *panel, *turned, *gradient, *sums, *ones;
  };
  /// Some neighbours in a row of outputs.
  struct Piece {
    Size image, row, column, at, count;
  };

  Size image_floats() const { return part_channels_ * channel_floats_; }
  Size part_rows() const { return part_channels_ * taps_count_; }
  std::size_t planes_size() const { return size(images_ * image_floats()) + 64; }
  std::size_t panel_size() const { return size(part_rows() * panel_positions) + 16; }
  std::size_t turned_size() const {
    return size(panel_positions * rounded(is_filters_wide_ ? part_filters_ : part_rows()));
  }
  std::size_t gradient_size() const {
    return is_filters_wide_ ? 0 : size(part_filters_ * panel_positions);
  }
  std::size_t sums_size() const {
    return is_filters_wide_ ? size(part_rows() * rounded(part_filters_))
                            : size(part_filters_ * rounded(part_rows()));
  }
  std::size_t task_floats() const {
    return Scratch::rounded(planes_size()) + Scratch::rounded(panel_size()) +
           Scratch::rounded(turned_size()) + Scratch::rounded(gradient_size()) +
           Scratch::rounded(sums_size()) + Scratch::rounded(ones_size());
  }
  std::size_t ones_size() const { return size(std::max(part_rows(), part_filters_)); }

  void run_part(const Part& part, OpScratch& all) const {
    Scratch scratch(all);
    Memory memory{};
    memory.planes = scratch.take(planes_size());
    memory.panel = scratch.take(panel_size());
    memory.turned = scratch.take(turned_size());
    memory.gradient = scratch.take(gradient_size());
    memory.sums = scratch.take(sums_size());
    memory.ones = scratch.take(ones_size());
    std::fill_n(memory.turned, turned_size(), 0.0f);
    std::fill_n(memory.sums, sums_size(), 0.0f);
    std::fill_n(memory.ones, ones_size(), 1.0f);
    const ConvPlanes planes(rows_, columns_, block_.rows, block_.columns);
    const Size plane = r_.height * r_.width;
    for (Size image = 0; image < r_.batch; image += images_) {
      const Size images = std::min(images_, r_.batch - image);
      for (Size row = 0; row < r_.out_height; row += block_.rows) {
        const ConvBlock block{row, 0, std::min(block_.rows, r_.out_height - row), r_.out_width};
        for (Size i = 0; i < images; ++i) {
          const Size first = ((image + i) * r_.groups + part.group) * channels_ + part.channel;
          pack_planes(rows_, columns_, planes, block, data<T>(r_.input) + first * plane,
                      part.channels, memory.planes + i * image_floats());
        }
        const Size positions = images * block.rows * r_.out_width;
        for (Size begin = 0; begin < positions; begin += panel_positions) {
          add_panel(part, image, block, begin, std::min(positions, begin + panel_positions),
                    memory);
        }
      }
    }
    write(part, memory);
  }

  std::vector<Piece> pieces_of(const ConvBlock& block, Size begin, Size end) const {
    std::vector<Piece> pieces;
    for (Size i = begin; i < end;) {
      const Size row = i / r_.out_width, column = i % r_.out_width;
      const Size count = std::min(r_.out_width - column, end - i);
      pieces.push_back({row / block.rows, block.row + row % block.rows, column, i - begin, count});
      i += count;
    }
    return pieces;
  }

  void add_panel(const Part& part, Size image, const ConvBlock& block, Size begin, Size end,
                 const Memory& memory) const {
    const std::vector<Piece> pieces = pieces_of(block, begin, end);
    const Size positions = end - begin, length = rounded(positions);
    fill(part, block, pieces, positions, length, memory);
    const Size rows = part.channels * taps_count_, wide = is_filters_wide_ ? part.filters : rows;
    const float* weights = memory.panel;
    Size stride = length;
    if (is_filters_wide_) {
      for (const Piece& piece : joined(pieces)) {
        row_kernels<T>().transpose(gradient_of(part, image, piece), size(part.filters),
                                   size(r_.out_height * r_.out_width), size(piece.count), 1,
                                   memory.turned + piece.at * rounded(wide), size(rounded(wide)));
      }
    } else {
      weights = memory.gradient;
      const std::vector<Piece> runs = joined(pieces);
      if constexpr (sizeof(T) == sizeof(float)) {
        if (runs.size() == 1) {
          weights = gradient_of(part, image, runs[0]);
          stride = r_.out_height * r_.out_width;
        }
      }
      if (weights == memory.gradient) {
        for (const Piece& run : runs) {
          const T* from = gradient_of(part, image, run);
          for (Size f = 0; f < part.filters; ++f) {
            to_float32(from + f * r_.out_height * r_.out_width,
                       memory.gradient + f * length + run.at, size(run.count));
          }
        }
      }
    }
    static constexpr Tap one_tap{0, 0};
    TapProduct product{};
    product.taps = &one_tap;
    product.tap_count = 1;
    product.input = memory.turned;
    product.input_stride = size(rounded(wide));
    product.channels = size(positions);
    product.weights = weights;
    product.filter_stride = size(stride);
    product.weight_stride = 1;
    product.output = memory.sums;
    product.output_stride = size(rounded(wide));
    product.filters = size(is_filters_wide_ ? rows : part.filters);
    product.positions = size(rounded(wide));
    product.kept = memory.ones;
    kernels().linear.tap_product(product);
  }

  void fill(const Part& part, const ConvBlock& block, const std::vector<Piece>& pieces,
            Size positions, Size width, const Memory& memory) const {
    Size longest = 0;
    for (const Piece& piece : pieces) longest = std::max(longest, piece.count);
    const Size length = copy_length(longest);
    std::vector<PanelRun> runs;
    for (const Piece& piece : pieces) {
      const Size from =
          piece.image * image_floats() + (piece.row - block.row) * width_ + piece.column;
      for (Size i = 0; i < piece.count; i += length) {
        runs.push_back(
            {static_cast<std::int32_t>(from + i), static_cast<std::int32_t>(piece.at + i)});
      }
    }
    const Size rows = part.channels * taps_count_, wide = rounded(rows);
    const auto copy = [&](Size channel, Size channels, Size tap, Size taps) {
      conv_table().copy_runs(
          {memory.planes + channel * channel_floats_, size(channels), size(channel_floats_),
           taps_.data() + tap, size(taps), runs.data(), runs.size(), size(length), size(width)},
          memory.panel);
    };
    if (is_filters_wide_) return copy(0, part.channels, 0, taps_count_);
    // Rows are turned while they are in the first-level cache.
    const Size channels = std::max<Size>(1, turned_rows / taps_count_);
    const Size taps = std::min(turned_rows, taps_count_);
    for (Size c = 0; c < part.channels; c += channels) {
      const Size own = std::min(channels, part.channels - c);
      for (Size t = 0; t < taps_count_; t += taps) {
        const Size own_taps = std::min(taps, taps_count_ - t);
        copy(c, own, t, own_taps);
        row_kernels<float>().transpose(memory.panel, size(own * own_taps), size(width),
                                       size(positions), 1, memory.turned + c * taps_count_ + t,
                                       size(wide));
      }
    }
  }

  /// Rows that follow each other in the output are one.
  static std::vector<Piece> joined(const std::vector<Piece>& pieces) {
    std::vector<Piece> all;
    for (const Piece& piece : pieces) {
      const bool goes_on = !all.empty() && all.back().image == piece.image;
      goes_on ? void(all.back().count += piece.count) : all.push_back(piece);
    }
    return all;
  }

  const T* gradient_of(const Part& part, Size image, const Piece& piece) const {
    const Size first = ((image + piece.image) * r_.groups + part.group) * filters_ + part.filter;
    return data<T>(r_.output) + (first * r_.out_height + piece.row) * r_.out_width + piece.column;
  }

  void write(const Part& part, const Memory& memory) const {
    const Size all = channels_ * taps_count_, rows = part.channels * taps_count_;
    T* const to = data<T>(r_.filter) + (part.group * filters_ + part.filter) * all +
                  part.channel * taps_count_;
    if (!is_filters_wide_) {
      for (Size f = 0; f < part.filters; ++f) {
        from_float32(memory.sums + f * rounded(rows), to + f * all, size(rows));
      }
      return;
    }
    constexpr Size step = 16;  // filters whose sums find room where a panel was
    for (Size f = 0; f < part.filters; f += step) {
      const Size count = std::min(step, part.filters - f);
      row_kernels<float>().transpose(memory.sums + f, size(rows), size(rounded(part.filters)),
                                     size(count), 1, memory.panel, size(rows));
      for (Size i = 0; i < count; ++i) {
        from_float32(memory.panel + i * rows, to + (f + i) * all, size(rows));
      }
    }
  }

  const Conv2dRequest& r_;
  ConvAxis rows_, columns_;
  Size channels_, filters_;  ///< of a group
  Size taps_count_;
  ConvBlock block_{};
  Size width_ = 0, channel_floats_ = 0;  ///< of the planes
  Size part_channels_, channel_parts_, part_filters_, filter_parts_;
  Size images_ = 1;  ///< that are walked as one
  bool is_filters_wide_ = false;
  double cost_ = 0;
  std::vector<std::ptrdiff_t> taps_;
};

}  // namespace

template <class T>
double cost_of_filter_panels(const Conv2dRequest& r, const MemoryPool& pool) {
  return cost_in(pool, FilterPanels<T>(r));
}

template <class T>
void filter_gradient_by_panels(const Conv2dRequest& r, MemoryPool& pool) {
  FilterPanels<T>(r).run(pool);
}

template double cost_of_filter_panels<float>(const Conv2dRequest&, const MemoryPool&);
template double cost_of_filter_panels<Half>(const Conv2dRequest&, const MemoryPool&);
template void filter_gradient_by_panels<float>(const Conv2dRequest&, MemoryPool&);
template void filter_gradient_by_panels<Half>(const Conv2dRequest&, MemoryPool&);

}  // namespace tilewright::cpu
