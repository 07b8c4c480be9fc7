#include <algorithm>
#include <string_view>
#include <vector>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

constexpr Size part_filters = 64, fewest_filters = 16;
/// Of the gradient that goes into one product: it stays in the first-level cache.
constexpr Size cached_floats = Size{1} << 13;
/// Filters whose sums are turned at a time.
constexpr Size filters_at_once = 16;
/// What a vector that is turned takes, in products of a vector and a weight.
constexpr double turn_cost = 12;
/// The same of one of sums that is added to.
constexpr double sum_cost = 3;
/// Filters that would leave most of a vector unused.
constexpr Size few_filters = 4;

/// For each tap the product of two matrices: the inputs, channel by channel as they lie in their
/// planes, from where the tap shifts them; and the output gradient with its filters side by side.
template <class T>
class FilterGradient {
 public:
  explicit FilterGradient(const Conv2dRequest& r)
      : r_(r),
        rows_(ConvAxis::forward(axes_of(r)[0])),
        columns_(ConvAxis::forward(axes_of(r)[1])),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups),
        size_(cut(rows_, columns_, channels_)),
        planes_(rows_, columns_, size_.rows, size_.columns),
        side_by_side_(filters_ > few_filters),
        ones_(static_cast<std::size_t>(channels_), 1.0f) {
    if (reads_directly(rows_, columns_, size_)) {
      planes_.width = r.width;
      planes_.channel_stride = r.height * r.width;
    } else {
      packed_ = packed_size(planes_, channels_);
    }
    for (const AxisTap& row : rows_.target_phases[0].taps) {
      for (const AxisTap& column : columns_.target_phases[0].taps) {
        taps_.push_back(planes_.offset(rows_, columns_, row, column));
      }
    }
    const auto threads = static_cast<Size>(thread_count());
    const Size wanted = ceil_div(threads, r.groups);
    part_ = std::min(part_filters, std::max(fewest_filters, ceil_div(filters_, wanted)));
    part_ = even_part(part_);
    const Size parts = ceil_div(filters_, part_);
    const auto taps = static_cast<Size>(taps_.size());
    tap_part_ = ceil_div(taps, std::min(taps, ceil_div(wanted, parts)));
    const auto width = static_cast<std::size_t>(part_);
    width_ = static_cast<Size>(side_by_side_ ? Scratch::rounded(width) : width);
  }

  /// In products of a vector and a weight.
  double cost() const {
    const auto of_product = [&](Size filters) {
      return product_cost(channels_, ceil_div(filters, lanes()) * lanes());
    };
    const Size part = even_part(part_filters);
    double products = static_cast<double>(filters_ / part) * of_product(part);
    if (filters_ % part != 0) products += of_product(filters_ % part);
    const Size blocks = r_.batch * r_.groups * ceil_div(r_.out_height, size_.rows) *
                        ceil_div(r_.out_width, size_.columns);
    const Size length = planes_.positions(size_);
    const auto taps = static_cast<double>(taps_.size());
    const auto vectors = static_cast<double>(ceil_div(filters_, lanes()));
    // Sums are added to for as much of the gradient as goes into one product.
    const double sums = static_cast<double>(ceil_div(length * width_, cached_floats)) * vectors *
                        static_cast<double>(channels_) * sum_cost;
    return static_cast<double>(blocks) *
           (static_cast<double>(length) * (taps * products + vectors * turn_cost) + taps * sums +
            static_cast<double>(packed_) / static_cast<double>(lanes()) * pack_cost);
  }

  void run(MemoryPool& pool) const {
    const auto taps = static_cast<Size>(taps_.size());
    const Size parts = ceil_div(filters_, part_), tap_parts = ceil_div(taps, tap_part_);
    const auto tasks = static_cast<std::size_t>(r_.groups * parts * tap_parts);
    OpScratch all(pool, op,
                  Scratch::rounded(packed_) + Scratch::rounded(gradient_size()) +
                      Scratch::rounded(sums_size(tap_part_)) +
                      Scratch::rounded(static_cast<std::size_t>(channels_)) + rows_size(tap_part_),
                  tasks);
    parallel_tasks(tasks, [&](std::size_t task) {
      const Size index = static_cast<Size>(task);
      Part part;
      part.tap = index % tap_parts * tap_part_;
      part.taps = std::min(tap_part_, taps - part.tap);
      part.filter = index / tap_parts % parts * part_;
      part.filters = std::min(part_, filters_ - part.filter);
      run_part(index / tap_parts / parts, part, all);
    });
  }

 private:
  static ConvBlock cut(ConvAxis& rows, ConvAxis& columns, Size channels) {
    const ConvBlock block = block_size(rows, columns, channels, 1);
    if (reads_directly(rows, columns, block)) return block;
    return packed_block_size(rows, columns, channels, 1);
  }

  /// Whether the input itself can serve as the planes.
  static bool reads_directly(const ConvAxis& rows, const ConvAxis& columns, const ConvBlock& size) {
    return sizeof(T) == sizeof(float) && rows.is_plain() && columns.is_plain() &&
           size.columns == columns.size();
  }

  /// Of parts of so many filters at most, in whole vectors where there are several.
  Size even_part(Size most) const {
    const Size parts = ceil_div(filters_, most);
    return std::min(ceil_div(ceil_div(filters_, parts), lanes()) * lanes(), filters_);
  }

  /// What one task computes.
  struct Part {
    Size tap, taps, filter, filters;
  };

  std::size_t gradient_size() const {
    return static_cast<std::size_t>(size_.rows * planes_.width * width_);
  }
  std::size_t sums_size(Size taps) const {
    return static_cast<std::size_t>(taps * channels_ * width_);
  }

  /// Of some filters' sums, turned.
  std::size_t rows_size(Size taps) const {
    return static_cast<std::size_t>(filters_at_once * taps * channels_);
  }

  /// Sums are [channels][taps][width], whose first elements are the filters.
  void run_part(Size group, const Part& part, OpScratch& all) const {
    Scratch scratch(all);
    float* const packed = scratch.take(packed_);
    float* const gradient = scratch.take(gradient_size());
    float* const sums = scratch.take(sums_size(part.taps));
    float* const products = scratch.take(static_cast<std::size_t>(channels_));
    float* const rows = scratch.take(rows_size(part.taps));
    std::fill_n(gradient, gradient_size(), 0.0f);
    std::fill_n(sums, sums_size(part.taps), 0.0f);

    const Size out_plane = r_.out_height * r_.out_width;
    for (Size image = 0; image < r_.batch; ++image) {
      const T* const source =
          data<T>(r_.input) + (image * r_.channels + group * channels_) * r_.height * r_.width;
      const T* const target =
          data<T>(r_.output) + (image * r_.filters + group * filters_ + part.filter) * out_plane;
      for (ConvBlock block = size_; block.row < r_.out_height; block.row += size_.rows) {
        block.rows = std::min(size_.rows, r_.out_height - block.row);
        for (block.column = 0; block.column < r_.out_width; block.column += size_.columns) {
          block.columns = std::min(size_.columns, r_.out_width - block.column);
          const float* const input = planes_of(source, block, packed);
          if (side_by_side_) {
            pack_gradient_across(block, target, part.filters, gradient);
            add_products(block, input, gradient, part, sums);
          } else {
            pack_gradient(block, target, part.filters, gradient);
            add_dots(block, input, gradient, part, sums, products);
          }
        }
      }
    }
    write(group * filters_, part, sums, rows);
  }

  const float* planes_of(const T* source, const ConvBlock& block, float* packed) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (packed_ == 0) return source + block.row * planes_.width;
    }
    pack_planes(rows_, columns_, planes_, block, source, channels_, packed);
    return packed;
  }

  /// The block's rows, zeros between them, as [filters][positions].
  void pack_gradient(const ConvBlock& block, const T* from, Size filters, float* to) const {
    const Size length = planes_.positions(block), gap = planes_.width - block.columns;
    for (Size f = 0; f < filters; ++f) {
      for (Size i = 0; i < block.rows; ++i) {
        const Size at = (f * r_.out_height + block.row + i) * r_.out_width + block.column;
        float* const row = to + f * length + i * planes_.width;
        to_float32(from + at, row, static_cast<std::size_t>(block.columns));
        if (i + 1 < block.rows) std::fill_n(row + block.columns, gap, 0.0f);
      }
    }
  }

  /// The same as [positions][width].
  void pack_gradient_across(const ConvBlock& block, const T* from, Size filters, float* to) const {
    const Size gap = planes_.width - block.columns;
    // Whole rows without a gap are one.
    const bool joined = gap == 0 && block.columns == r_.out_width;
    const Size rows = joined ? 1 : block.rows;
    const Size columns = joined ? planes_.positions(block) : block.columns;
    for (Size i = 0; i < rows; ++i) {
      float* const row = to + i * planes_.width * width_;
      row_kernels<T>().transpose(
          from + (block.row + i) * r_.out_width + block.column, static_cast<std::size_t>(filters),
          static_cast<std::size_t>(r_.out_height * r_.out_width), static_cast<std::size_t>(columns),
          1, row, static_cast<std::size_t>(width_));
      if (i + 1 < rows) std::fill_n(row + columns * width_, gap * width_, 0.0f);
    }
  }

  const float* source_of(const float* input, Size tap) const {
    return input + taps_[static_cast<std::size_t>(tap)];
  }

  void add_products(const ConvBlock& block, const float* input, const float* gradient,
                    const Part& part, float* sums) const {
    static constexpr Tap one_tap{0, 0};
    TapProduct product{};
    product.taps = &one_tap;
    product.tap_count = 1;
    product.input_stride = static_cast<std::size_t>(width_);
    product.filter_stride = static_cast<std::size_t>(planes_.channel_stride);
    product.weight_stride = 1;
    product.output_stride = static_cast<std::size_t>(part.taps * width_);
    product.filters = static_cast<std::size_t>(channels_);
    product.positions = static_cast<std::size_t>(width_);
    product.kept = ones_.data();
    const Size length = planes_.positions(block), step = std::min(length, cached_floats / width_);
    for (Size first = 0; first < length; first += step) {
      product.input = gradient + first * width_;
      product.channels = static_cast<std::size_t>(std::min(step, length - first));
      for (Size t = 0; t < part.taps; ++t) {
        product.weights = source_of(input, part.tap + t) + first;
        product.output = sums + t * width_;
        kernels().linear.tap_product(product);
      }
    }
  }

  void add_dots(const ConvBlock& block, const float* input, const float* gradient, const Part& part,
                float* sums, float* products) const {
    const Size length = planes_.positions(block);
    for (Size f = 0; f < part.filters; ++f) {
      for (Size t = 0; t < part.taps; ++t) {
        row_kernels<float>().dot_rows(
            source_of(input, part.tap + t), static_cast<std::size_t>(channels_),
            static_cast<std::size_t>(planes_.channel_stride), gradient + f * length,
            static_cast<std::size_t>(length), 1, products);
        for (Size c = 0; c < channels_; ++c) {
          sums[(c * part.taps + t) * width_ + f] += products[c];
        }
      }
    }
  }

  void write(Size first_filter, const Part& part, const float* sums, float* rows) const {
    const auto taps = static_cast<Size>(taps_.size());
    T* const to = data<T>(r_.filter) + (first_filter + part.filter) * channels_ * taps + part.tap;
    const Size count = channels_ * part.taps;
    for (Size first = 0; first < part.filters; first += filters_at_once) {
      const Size filters = std::min(filters_at_once, part.filters - first);
      row_kernels<float>().transpose(
          sums + first, static_cast<std::size_t>(count), static_cast<std::size_t>(width_),
          static_cast<std::size_t>(filters), 1, rows, static_cast<std::size_t>(count));
      for (Size f = 0; f < filters; ++f) {
        T* const filter = to + (first + f) * channels_ * taps;
        const float* const own = rows + f * count;
        if (part.taps == taps) {
          from_float32(own, filter, static_cast<std::size_t>(count));
          continue;
        }
        for (Size c = 0; c < channels_; ++c) {
          from_float32(own + c * part.taps, filter + c * taps, static_cast<std::size_t>(part.taps));
        }
      }
    }
  }

  const Conv2dRequest& r_;
  ConvAxis rows_, columns_;
  Size channels_, filters_;  ///< of a group
  ConvBlock size_;
  ConvPlanes planes_;
  std::size_t packed_ = 0;   ///< floats of the planes, 0 where the input serves as them
  bool side_by_side_;        ///< the filters, in whole vectors
  std::vector<float> ones_;  ///< the sums of a block add to those before it
  std::vector<std::ptrdiff_t> taps_;
  Size part_, tap_part_;
  Size width_;  ///< of the filters of a part
};

template <class T>
void backward(const Conv2dRequest& r, MemoryPool& pool) {
  if (thin_filter_gradient<T>(r, pool)) return;
  const FilterGradient<T> by_blocks(r);
  const double cost = by_blocks.cost(), of_panels = cost_of_filter_panels<T>(r, pool);
  const double of_windows = cost_of_filter_windows<T>(r, pool);
  if (filter_gradient_by_taps<T>(r, std::min({cost, of_panels, of_windows}), pool)) return;
  if (of_windows < std::min(cost, of_panels)) return filter_gradient_by_windows<T>(r, pool);
  of_panels <= cost ? filter_gradient_by_panels<T>(r, pool) : by_blocks.run(pool);
}

}  // namespace

void CpuBackend::do_conv2d_backward_filter(const Conv2dRequest& r) {
  if (takes_meetings(r, walked_pairs(r))) {
    return sum_meetings(op, sums_of(r), *memory_);
  }
  if (takes_channels(r)) return convolve_channels(op, r, nullptr, nullptr, *memory_);
  r.dtype == DType::float16 ? backward<Half>(r, *memory_) : backward<float>(r, *memory_);
}

}  // namespace tilewright::cpu
