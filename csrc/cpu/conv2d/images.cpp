#include "cpu/conv2d/images.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Floats of planes that are turned at a time.
constexpr Size packed_floats = Size{1} << 13;

/// Images lie side by side, element by element: a run of positions of all images in a row of the
/// grid is one of the source's floats through any tap, and takes no tap that sees padding alone.
template <class T>
class ImageRuns {
 public:
  ImageRuns(const Correlation<T>& c, const ImagesPlan& plan)
      : c_(c), work_(c), rows_(parts_of(c.rows, 1)), plan_(plan) {}

  double bytes() const {
    return static_cast<double>(sizeof(float)) *
           static_cast<double>(task_floats() + size(packed_weights()));
  }

  void run(bool is_small) {
    columns_ = parts_of(c_.columns, plan_.columns);
    if (plan_.is_filters_wide) pack_weights();
    const Size threads = is_small ? 1 : static_cast<Size>(thread_count());
    const Size units = ceil_div(c_.batch, plan_.images) * c_.groups;
    const Size runs = ceil_div(c_.filters, filters_at_once());
    const Size parts = std::clamp<Size>(threads == 1 ? 1 : ceil_div(2 * threads, units), 1, runs);
    const Size tasks = units * parts;
    OpScratch all(c_.pool, c_.op, task_floats(), size(tasks));
    parallel_tasks(size(tasks), [&](std::size_t index) {
      const Size task = static_cast<Size>(index), part = task % parts, unit = task / parts;
      Scratch scratch(all);
      Unit u{unit % c_.groups, unit / c_.groups * plan_.images, 0};
      u.images = std::min(plan_.images, c_.batch - u.image);
      const Memory memory{scratch.take(planes_size()), scratch.take(packed_size()),
                          scratch.take(results_size()), scratch.take(line_size()),
                          scratch.take(ones_size())};
      std::fill_n(memory.ones, ones_size(), 1.0f);
      fill(u, memory);
      for (Size run = part * runs / parts; run < (part + 1) * runs / parts; ++run) {
        const Size filter = run * filters_at_once();
        run_filters_of(u, filter, std::min(filters_at_once(), c_.filters - filter), memory);
      }
    });
  }

 private:
  struct Unit {
    Size group, image, images;
  };
  struct Memory {
    float *planes, *packed, *results, *line, *ones;
  };

  Size filters_at_once() const {
    if (!plan_.is_filters_wide) return std::min(images_run_filters, c_.filters);
    const Size vectors = ceil_div(c_.filters, lanes());
    return std::min(ceil_div(vectors, ceil_div(vectors, 3)) * lanes(), c_.filters);
  }
  /// Between the results of positions, filters side by side.
  Size lanes_at_once() const { return ceil_div(filters_at_once(), lanes()) * lanes(); }
  /// Of a filter, where the positions of all images are side by side.
  Size result_stride() const { return work_.targets() * plan_.images + longest_images_run; }

  std::size_t planes_size() const {
    return size(c_.channels * work_.channel_floats * plan_.images + longest_images_run);
  }
  Size packed_channel() const { return std::max(work_.channel_floats, work_.sources()); }
  /// Channels of all images that are packed before they are turned.
  Size channels_at_once() const {
    return std::clamp<Size>(packed_floats / (packed_channel() * plan_.images), 1, c_.channels);
  }
  std::size_t packed_size() const {
    return size(channels_at_once() * packed_channel() * plan_.images + 64);
  }
  std::size_t results_size() const {
    return size(plan_.is_filters_wide ? work_.targets() * plan_.images * lanes_at_once()
                                      : filters_at_once() * result_stride());
  }
  std::size_t line_size() const {
    return size(work_.targets() * (plan_.is_filters_wide ? filters_at_once() : plan_.images) + 16);
  }
  std::size_t ones_size() const { return size(longest_images_run); }
  std::size_t task_floats() const {
    return Scratch::rounded(planes_size()) + Scratch::rounded(packed_size()) +
           Scratch::rounded(results_size()) + Scratch::rounded(line_size()) +
           Scratch::rounded(ones_size());
  }
  Size packed_weights() const {
    if (!plan_.is_filters_wide) return 0;
    return c_.groups * ceil_div(c_.filters, filters_at_once()) * weights_of_run();
  }
  Size weights_of_run() const { return c_.channels * work_.taps * lanes_at_once(); }

  /// By runs of filters as [channels][taps][filters].
  void pack_weights() {
    const Size runs = ceil_div(c_.filters, filters_at_once());
    weights_ = c_.pool.scratch(c_.op, static_cast<std::uint64_t>(packed_weights()) * sizeof(float));
    parallel_tasks(size(c_.groups * runs), [&](std::size_t index) {
      const Size run = static_cast<Size>(index) % runs, group = static_cast<Size>(index) / runs;
      const Size first = run * filters_at_once(), stride = lanes_at_once();
      const Size filters = std::min(filters_at_once(), c_.filters - first);
      float* const to = data<float>(weights_) + static_cast<Size>(index) * weights_of_run();
      if (filters < stride) std::fill_n(to, weights_of_run(), 0.0f);
      const float* const from = c_.weights + group * c_.group_stride + first * c_.filter_stride;
      // Channels that follow each other are turned as one.
      const bool is_joined = c_.channel_stride == work_.taps;
      const Size parts = is_joined ? 1 : c_.channels,
                 n = is_joined ? c_.channels * work_.taps : work_.taps;
      for (Size i = 0; i < parts; ++i) {
        row_kernels<float>().transpose(from + i * c_.channel_stride, size(filters),
                                       size(c_.filter_stride), size(n), 1,
                                       to + i * work_.taps * stride, size(stride));
      }
    });
  }

  /// All rows of the source as they are.
  static ConvAxis source_rows(Size count) {
    return {count, 1, 0, count, 1, 0, 0, count, 0, 0, {0}, {}};
  }

  /// The planes of a channel as [phases][rows][columns][images].
  void fill(const Unit& unit, const Memory& memory) const {
    const Size images = unit.images, apart = c_.groups * c_.channels * work_.sources();
    const ConvAxis rows = source_rows(c_.rows.source_size);
    const ConvPlanes planes(rows, c_.columns, rows.size(), c_.columns.size());
    const ConvBlock block{0, c_.columns.begin, rows.size(), c_.columns.size()};
    const Size step = channels_at_once();
    for (Size channel = 0; channel < c_.channels; channel += step) {
      const Size channels = std::min(step, c_.channels - channel);
      const T* const source =
          c_.source +
          ((unit.image * c_.groups + unit.group) * c_.channels + channel) * work_.sources();
      float* const to = memory.planes + channel * work_.channel_floats * images;
      if (images == 1) {
        pack_planes(rows, c_.columns, planes, block, source, channels, to);
      } else if (c_.columns.source_step == 1) {
        row_kernels<T>().transpose(source, size(images), size(apart),
                                   size(channels * work_.sources()), 1, memory.packed,
                                   size(images));
        pad_rows(channels * c_.rows.source_size, images, memory.packed, to);
      } else {
        const Size floats = channels * work_.channel_floats;
        for (Size i = 0; i < images; ++i) {
          pack_planes(rows, c_.columns, planes, block, source + i * apart, channels,
                      memory.packed + i * floats);
        }
        row_kernels<float>().transpose(memory.packed, size(images), size(floats), size(floats), 1,
                                       to, size(images));
      }
    }
  }

  /// Rows of the source, images side by side, with the padding beside them.
  void pad_rows(Size rows, Size images, const float* from, float* to) const {
    const Size source = c_.columns.source_size;
    const Size first = c_.columns.begin + c_.columns.min_shift + c_.columns.source_phases[0] -
                       c_.columns.source_origin;
    const Size begin = std::clamp<Size>(-first, 0, work_.width);
    const Size end = std::clamp(source - first, begin, work_.width);
    for (Size i = 0; i < rows; ++i) {
      std::fill_n(to, begin * images, 0.0f);
      std::copy_n(from + (first + begin) * images, (end - begin) * images, to + begin * images);
      std::fill_n(to + end * images, (work_.width - end) * images, 0.0f);
      from += source * images;
      to += work_.width * images;
    }
  }

  void run_filters_of(const Unit& unit, Size filter, Size filters, const Memory& memory) const {
    const Size stride = lanes_at_once();
    std::vector<Tap> taps;
    TapProduct product{};
    const float* operand = memory.planes;
    const float* weights = c_.weights + unit.group * c_.group_stride + filter * c_.filter_stride;
    if (plan_.is_filters_wide) {
      const Size runs = ceil_div(c_.filters, filters_at_once());
      weights = data<float>(weights_) +
                (unit.group * runs + filter / filters_at_once()) * weights_of_run();
      product.input_stride = size(work_.taps * stride);
      product.weight_stride = size(work_.channel_floats * unit.images);
      product.filter_stride = 1;
      product.positions = size(ceil_div(filters, lanes()) * lanes());
      product.output_stride = size(stride);
    } else {
      product.input_stride = size(work_.channel_floats * unit.images);
      product.weight_stride = size(c_.channel_stride);
      product.filter_stride = size(c_.filter_stride);
      product.filters = size(filters);
      product.output_stride = size(result_stride());
      product.start = c_.start != nullptr ? c_.start + unit.group * c_.filters + filter : nullptr;
    }
    product.channels = size(c_.channels);
    for (const AxisPart& row_part : rows_) {
      for (const AxisPart& column_part : columns_) {
        const Size width = column_part.range.size();
        const Size from = column_part.range.begin - c_.columns.begin;
        if (plan_.is_filters_wide && c_.start != nullptr) {
          start_sums(unit, filter, filters, row_part.range.size() * width * unit.images, memory);
          product.kept = memory.ones;
        }
        for (const Segment& row : row_part.segments) {
          for (const Segment& segment : column_part.segments) {
            find_taps(unit, row_part.range.begin + row.begin, row, segment, taps);
            product.taps = taps.data();
            product.tap_count = taps.size();
            const Size at = (row.begin * width + segment.begin) * unit.images;
            const Size positions = (segment.end - segment.begin) * unit.images;
            const float* const own = operand + (from + segment.begin) * unit.images;
            product.input = plan_.is_filters_wide ? weights : own;
            product.weights = plan_.is_filters_wide ? own : weights;
            product.output = memory.results + at * (plan_.is_filters_wide ? stride : 1);
            (plan_.is_filters_wide ? product.filters : product.positions) =
                size(plan_.is_filters_wide ? positions : std::max(positions, lanes()));
            kernels().linear.tap_product(product);
          }
        }
        put_all(unit, row_part, column_part, filter, filters, memory);
      }
    }
  }

  void start_sums(const Unit& unit, Size filter, Size filters, Size positions,
                  const Memory& memory) const {
    const Size stride = lanes_at_once();
    std::fill_n(memory.results, positions * stride, 0.0f);
    for (Size i = 0; i < positions; ++i) {
      std::copy_n(c_.start + unit.group * c_.filters + filter, filters,
                  memory.results + i * stride);
    }
  }

  void find_taps(const Unit& unit, Size position, const Segment& row, const Segment& segment,
                 std::vector<Tap>& taps) const {
    taps.clear();
    for (const AxisTap& down : row.taps) {
      const Size line = c_.rows.seen_at(position, down);
      for (const AxisTap& across : segment.taps) {
        const std::ptrdiff_t seen = ((across.phase * c_.rows.source_size + line) * work_.width +
                                     across.shift - c_.columns.min_shift) *
                                    unit.images;
        const std::ptrdiff_t weight = down.index * c_.row_stride + across.index;
        taps.push_back(plan_.is_filters_wide ? Tap{weight * lanes_at_once(), seen}
                                             : Tap{seen, weight});
      }
    }
  }

  /// What the results of a pair of phases go to.
  void put_all(const Unit& unit, const AxisPart& rows, const AxisPart& columns, Size filter,
               Size filters, const Memory& memory) const {
    const Size positions = rows.range.size() * columns.range.size(), plane = work_.targets();
    const Size image_stride = c_.groups * c_.filters * plane, stride = lanes_at_once();
    T* const target =
        c_.target + ((unit.image * c_.groups + unit.group) * c_.filters + filter) * plane;
    const bool is_direct = std::is_same_v<T, float> && positions == plane;
    const auto end = [&](T* to, float* sums, Size images_or_filters, Size to_stride) {
      for (Size i = 0; i < images_or_filters; ++i) {
        put(rows, columns, sums + i * positions, to + i * to_stride);
      }
    };
    if (plan_.is_filters_wide) {
      for (Size i = 0; i < unit.images; ++i) {
        T* const own = target + i * image_stride;
        float* to = memory.line;
        if constexpr (std::is_same_v<T, float>) {
          if (is_direct) to = own;
        }
        row_kernels<float>().transpose(memory.results + i * stride, size(positions),
                                       size(unit.images * stride), size(filters), 1, to,
                                       size(positions));
        is_direct ? finish(own, filters * plane) : end(own, memory.line, filters, plane);
      }
      return;
    }
    for (Size f = 0; f < filters; ++f) {
      T* const own = target + f * plane;
      float* to = memory.line;
      if constexpr (std::is_same_v<T, float>) {
        if (is_direct) to = own;
      }
      const Size apart = is_direct ? image_stride : positions;
      const float* const from = memory.results + f * result_stride();
      if (unit.images == 1) {
        std::copy_n(from, positions, to);
      } else {
        row_kernels<float>().transpose(from, size(positions), size(unit.images), size(unit.images),
                                       1, to, size(apart));
      }
      if (!is_direct) {
        end(own, memory.line, unit.images, image_stride);
        continue;
      }
      for (Size i = 0; i < unit.images; ++i) finish(own + i * image_stride, plane);
    }
  }

  /// Addends and activations of sums that lie where they should.
  void finish(T* sums, Size count) const {
    if constexpr (std::is_same_v<T, float>) {
      end_sums(c_.addend != nullptr ? c_.addend + (sums - c_.target) : nullptr, c_.activation,
               c_.slope, sums, count);
    }
  }

  /// A plane's results, row by row. In steps there is no addend and no activation.
  void put(const AxisPart& rows, const AxisPart& columns, float* sums, T* plane) const {
    const Size count = columns.range.size(), step = c_.columns.target_step;
    const Size column = step * columns.range.begin + columns.offset - c_.columns.target_origin;
    for (Size y = 0; y < rows.range.size(); ++y, sums += count) {
      const Size row =
          c_.rows.target_step * (rows.range.begin + y) + rows.offset - c_.rows.target_origin;
      T* const to = plane + row * c_.columns.target_size + column;
      if (step == 1) {
        end_sums(c_.addend != nullptr ? c_.addend + (to - c_.target) : nullptr, c_.activation,
                 c_.slope, sums, count);
        from_float32(sums, to, size(count));
        continue;
      }
      constexpr Size chunk = 64;
      for (Size x = 0; x < count; x += chunk) {
        T converted[chunk];
        const Size part = std::min(chunk, count - x);
        from_float32(sums + x, converted, size(part));
        for (Size i = 0; i < part; ++i) to[(x + i) * step] = converted[i];
      }
    }
  }

  const Correlation<T>& c_;
  ImagesWork work_;
  std::vector<AxisPart> rows_, columns_;
  ImagesPlan plan_;
  AllocationRef weights_;
};

}  // namespace

template <class T>
ImagesPlan plan_images(const Correlation<T>& c) {
  const ImagesPlan plan = plan_images(ImagesWork(c));
  const bool has_room =
      ImageRuns<T>(c, plan).bytes() + (1 << 16) <= static_cast<double>(c.pool.scratch_room());
  return has_room ? plan : ImagesPlan{};
}

template <class T>
void correlate_by_images(const Correlation<T>& c, const ImagesPlan& plan, bool is_small) {
  ImageRuns<T>(c, plan).run(is_small);
}

template ImagesPlan plan_images(const Correlation<float>&);
template ImagesPlan plan_images(const Correlation<Half>&);
template void correlate_by_images(const Correlation<float>&, const ImagesPlan&, bool);
template void correlate_by_images(const Correlation<Half>&, const ImagesPlan&, bool);

}  // namespace tilewright::cpu
