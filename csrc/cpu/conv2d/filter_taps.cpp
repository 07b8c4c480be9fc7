#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "core/convolution.hpp"
#include "core/requests.hpp"
#include "cpu/conv2d/conv2d.hpp"
#include "cpu/convert.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::string_view op = "conv2d_backward_filter";

/// Positions of an input or an output of which padding is a part worth leaving out.
constexpr Size most_positions = 1024;
/// Floats of the planes that are read where they lie.
constexpr Size most_planes = Size{1} << 20;
/// Floats that are turned and stay in the first-level cache, and what a vector of more takes, in
/// products of a vector and a weight.
constexpr Size nearest_floats = Size{1} << 13;
constexpr double of_near_vector = 1, of_far_vector = 2.5;
/// The same of a vector that is turned, of one of sums that is added to, and of a call.
constexpr double turn_cost = 12, sum_cost = 3, call_cost = 90;
/// Filters whose sums are turned at a time.
constexpr Size filters_at_once = 16;

/// For each tap the product of two matrices: what it sees of the input, and the output gradient
/// where it sees it; none of the padding. Planes of one of them lie side by side, in vectors.
template <class T>
class TapGradient {
 public:
  explicit TapGradient(const Conv2dRequest& r)
      : r_(r),
        channels_(r.channels / r.groups),
        filters_(r.filters / r.groups),
        taps_(r.filter_height * r.filter_width),
        rows_(meetings(axes_of(r)[0], ConvOp::backward_filter)),
        columns_(meetings(axes_of(r)[1], ConvOp::backward_filter)) {
    const double by_filters = cost_of(channels_, filters_, r.out_height * r.out_width);
    const double by_channels = cost_of(filters_, channels_, r.height * r.width);
    is_filters_wide_ = by_filters <= by_channels;
    cost_ = std::min(by_filters, by_channels);
    const Size wide = is_filters_wide_ ? filters_ : channels_;
    const Size threads = static_cast<Size>(thread_count());
    const Size vectors = ceil_div(wide, lanes());
    const Size parts = std::clamp(ceil_div(threads, r.groups), ceil_div(vectors, 3), vectors);
    width_ = ceil_div(vectors, parts) * lanes();
    parts_ = ceil_div(wide, width_);
    const Size row_parts = ceil_div(threads, r.groups * parts_);
    part_rows_ = ceil_div(ceil_div(all_rows(), row_parts), product_rows()) * product_rows();
    part_rows_ = std::min(part_rows_, all_rows());
    row_parts_ = ceil_div(all_rows(), part_rows_);
  }

  double cost() const { return cost_; }
  double bytes() const {
    return static_cast<double>(sizeof(float)) * static_cast<double>(task_floats());
  }

  void run(MemoryPool& pool) const {
    const Size tasks = r_.groups * parts_ * row_parts_;
    OpScratch all(pool, op, task_floats(), size(tasks));
    parallel_tasks(size(tasks), [&](std::size_t index) {
      const Size task = static_cast<Size>(index), row = task % row_parts_ * part_rows_;
      const Size first = task / row_parts_ % parts_ * width_;
      const Size wide = is_filters_wide_ ? filters_ : channels_;
      Scratch scratch(all);
      const Memory memory{scratch.take(turned_size()), scratch.take(planes_size()),
                          scratch.take(sums_size()), scratch.take(rows_size()),
                          scratch.take(size(part_rows_))};
      std::fill_n(memory.turned, turned_size(), 0.0f);
      std::fill_n(memory.sums, sums_size(), 0.0f);
      std::fill_n(memory.ones, part_rows_, 1.0f);
      const Part part{task / row_parts_ / parts_, first, std::min(width_, wide - first), row,
                      std::min(part_rows_, all_rows() - row)};
      for (Size image = 0; image < r_.batch; ++image) add_image(image, part, memory);
      write(part, memory);
    });
  }

 private:
  /// Some of the planes that lie side by side, and some of the others, the rows.
  struct Part {
    Size group, first, count, row, rows;
  };
  struct Memory {
    float *turned, *planes, *sums, *rows, *ones;
  };

  double cost_of(Size rows, Size wide, Size turned) const {
    const Size vectors = ceil_div(wide, lanes()), parts = ceil_div(vectors, 3);
    const Size of_part = ceil_div(vectors, parts);
    const bool is_near = turned * of_part * lanes() <= nearest_floats;
    double seen_rows = 0, seen_columns = 0;
    for (const Meeting& meeting : rows_.of) seen_rows += static_cast<double>(meeting.count);
    for (const Meeting& meeting : columns_.of) seen_columns += static_cast<double>(meeting.count);
    const double products = seen_rows * seen_columns *
                            tiles_cost(rows, of_part, is_near ? of_near_vector : of_far_vector);
    const double sums = static_cast<double>(rows * of_part) * sum_cost + call_cost;
    const double turns = static_cast<double>(turned * of_part) +
                         static_cast<double>(rows * taps_ * of_part) /
                             static_cast<double>(std::max<Size>(r_.batch, 1));
    return static_cast<double>(r_.groups * r_.batch * parts) *
           (products + static_cast<double>(taps_) * sums + turns * turn_cost);
  }

  /// Planes that are not side by side.
  Size all_rows() const { return is_filters_wide_ ? channels_ : filters_; }
  Size row_plane() const { return is_filters_wide_ ? r_.height * r_.width : out_plane(); }
  Size turned_plane() const { return is_filters_wide_ ? out_plane() : r_.height * r_.width; }
  Size out_plane() const { return r_.out_height * r_.out_width; }
  std::size_t turned_size() const { return size(turned_plane() * width_); }
  std::size_t planes_size() const {
    return sizeof(T) == sizeof(float) ? 0 : size(part_rows_ * row_plane());
  }
  std::size_t sums_size() const { return size(part_rows_ * taps_ * width_); }
  std::size_t rows_size() const {
    return size(is_filters_wide_ ? filters_at_once * part_rows_ * taps_ : taps_ * width_);
  }
  std::size_t task_floats() const {
    return Scratch::rounded(turned_size()) + Scratch::rounded(planes_size()) +
           Scratch::rounded(sums_size()) + Scratch::rounded(rows_size()) +
           Scratch::rounded(size(part_rows_));
  }

  const T* input_of(Size image, Size group) const {
    return data<T>(r_.input) + (image * r_.groups + group) * channels_ * r_.height * r_.width;
  }
  const T* gradient_of(Size image, Size group) const {
    return data<T>(r_.output) + (image * r_.groups + group) * filters_ * out_plane();
  }

  void add_image(Size image, const Part& part, const Memory& memory) const {
    const T* const input = input_of(image, part.group);
    const T* const gradient = gradient_of(image, part.group);
    const T* const wide = is_filters_wide_ ? gradient : input;
    const T* const narrow = (is_filters_wide_ ? input : gradient) + part.row * row_plane();
    row_kernels<T>().transpose(wide + part.first * turned_plane(), size(part.count),
                               size(turned_plane()), size(turned_plane()), 1, memory.turned,
                               size(width_));
    const float* weights = memory.planes;
    if constexpr (sizeof(T) == sizeof(float)) {
      weights = narrow;
    } else {
      to_float32(narrow, memory.planes, size(part.rows * row_plane()));
    }
    std::vector<Tap> taps;
    TapProduct product{};
    product.filter_stride = size(row_plane());
    product.filters = size(part.rows);
    product.positions = size(width_);
    product.output_stride = size(taps_ * width_);
    product.kept = memory.ones;
    const Size column_step = columns_.a_step, row_step = rows_.a_step * r_.width;
    product.input_stride = size((is_filters_wide_ ? 1 : column_step) * width_);
    product.weight_stride = size(is_filters_wide_ ? column_step : 1);
    for (Size y = 0; y < r_.filter_height; ++y) {
      const Meeting& row = rows_.of[size(y)];
      taps.clear();
      for (Size i = 0; i < row.count; ++i) {
        taps.push_back(is_filters_wide_ ? Tap{i * r_.out_width * width_, i * row_step}
                                        : Tap{i * row_step * width_, i * r_.out_width});
      }
      product.taps = taps.data();
      product.tap_count = taps.size();
      for (Size x = 0; x < r_.filter_width; ++x) {
        const Meeting& column = columns_.of[size(x)];
        if (row.count == 0 || column.count == 0) continue;
        const Size seen = row.a * r_.width + column.a, own = row.b * r_.out_width + column.b;
        product.input = memory.turned + (is_filters_wide_ ? own : seen) * width_;
        product.weights = weights + (is_filters_wide_ ? seen : own);
        product.channels = size(column.count);
        product.output = memory.sums + (y * r_.filter_width + x) * width_;
        kernels().linear.tap_product(product);
      }
    }
  }

  /// Sums are [rows][taps][width].
  void write(const Part& part, const Memory& memory) const {
    const Size all = channels_ * taps_, own = part.rows * taps_;
    T* const to = data<T>(r_.filter) + part.group * filters_ * all;
    if (!is_filters_wide_) {
      for (Size f = 0; f < part.rows; ++f) {
        row_kernels<float>().transpose(memory.sums + f * taps_ * width_, size(taps_), size(width_),
                                       size(part.count), 1, memory.rows, size(taps_));
        from_float32(memory.rows, to + (part.row + f) * all + part.first * taps_,
                     size(part.count * taps_));
      }
      return;
    }
    for (Size f = 0; f < part.count; f += filters_at_once) {
      const Size count = std::min(filters_at_once, part.count - f);
      row_kernels<float>().transpose(memory.sums + f, size(own), size(width_), size(count), 1,
                                     memory.rows, size(own));
      for (Size i = 0; i < count; ++i) {
        from_float32(memory.rows + i * own, to + (part.first + f + i) * all + part.row * taps_,
                     size(own));
      }
    }
  }

  const Conv2dRequest& r_;
  Size channels_, filters_, taps_;  ///< of a group, and of a filter
  Meetings rows_, columns_;
  bool is_filters_wide_ = false;
  double cost_ = 0;
  Size width_ = 0, parts_ = 0;  ///< of what lies side by side
  Size part_rows_ = 0, row_parts_ = 0;
};

}  // namespace

template <class T>
bool filter_gradient_by_taps(const Conv2dRequest& r, double other_cost, MemoryPool& pool) {
  const Size input = r.height * r.width, output = r.out_height * r.out_width;
  const bool is_plain = r.filter_height * r.filter_width == 1;  // no tap sees padding
  if (is_plain || input > most_positions || output > most_positions || r.batch == 0 ||
      r.channels / r.groups * input > most_planes || r.filters / r.groups * output > most_planes) {
    return false;
  }
  const TapGradient<T> by_taps(r);
  // Others take more than their costs say where panels are short.
  constexpr double of_others = 1.5;
  if (by_taps.cost() >= of_others * other_cost ||
      by_taps.bytes() + (1 << 16) > static_cast<double>(pool.scratch_room())) {
    return false;
  }
  by_taps.run(pool);
  return true;
}

template bool filter_gradient_by_taps<float>(const Conv2dRequest&, double, MemoryPool&);
template bool filter_gradient_by_taps<Half>(const Conv2dRequest&, double, MemoryPool&);

}  // namespace tilewright::cpu
