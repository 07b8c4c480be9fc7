#include "cpu/ops/grid_sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ops/grid_sample.hpp"
#include "core/text.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/error.hpp"

// Some points of an image are found once, and then read of each channel.
namespace tilewright::cpu {

void require_int32(std::string_view op, const SampleSizes& sizes) {
  if (sizes.cells <= std::numeric_limits<std::int32_t>::max()) return;
  throw Unsupported(text(op, ": planes of ", sizes.cells,
                         " elements, more than int32 counts; split them into smaller calls"));
}

namespace {

constexpr std::size_t most_taps = 16;

template <class T>
class Sampling {
 public:
  using F = Computed<T>;

  explicit Sampling(const GridSampleRequest& r)
      : sampler_(r.mode, r.padding, r.align_corners),
        sizes_(r.sizes),
        input_(data<T>(r.input)),
        grid_(data<T>(r.grid)),
        output_(data<T>(r.output)),
        points_(static_cast<std::size_t>(r.sizes.points)),
        channels_(static_cast<std::size_t>(r.sizes.channels)),
        cells_(static_cast<std::size_t>(r.sizes.cells)) {
    for (std::size_t i = 0; i < sizes_.axes; ++i) taps_ *= sampler_.taps_of_axis();
  }

  void run() const {
    const std::size_t parts = (points_ + sample_room - 1) / sample_room;
    const std::size_t tables = static_cast<std::size_t>(sizes_.batch) * parts;
    // Where these are few, threads share the channels.
    const std::size_t wanted = 4 * thread_count();
    const std::size_t shares =
        std::min(channels_, std::max<std::size_t>((wanted + tables - 1) / tables, 1));
    const std::size_t work = std::min(points_, sample_room) * taps_;
    parallel_units(tables * shares, work * (channels_ / shares + 4), [&](std::size_t unit) {
      const std::size_t table = unit / shares, share = unit % shares;
      const std::size_t image = table / parts, first = table % parts * sample_room;
      sample(image, first, std::min(sample_room, points_ - first), channels_ * share / shares,
             channels_ * (share + 1) / shares);
    });
  }

 private:
  struct Table {
    alignas(64) std::int32_t places[most_taps * sample_room];
    alignas(64) F weights[most_taps * sample_room];
    bool outside[most_taps * sample_room];
    bool whole = true;  ///< nothing is outside
  };

  void fill(Table& table, std::size_t image, std::size_t first, std::size_t count) const {
    F coordinates[sample_room * sample_axes];
    const std::size_t axes = sizes_.axes;
    read_row(grid_ + (image * points_ + first) * axes, coordinates, count * axes);
    for (std::size_t i = 0; i < count; ++i) {
      const auto [z, y, x] = sample_point(sampler_, coordinates + i * axes, sizes_);
      std::size_t at = i;
      for (std::size_t a = 0; a < z.count; ++a) {
        for (std::size_t b = 0; b < y.count; ++b) {
          for (std::size_t c = 0; c < x.count; ++c, at += count) {
            const bool outside = (z.at[a] | y.at[b] | x.at[c]) < 0;
            const Size place = (z.at[a] * sizes_.shape[1] + y.at[b]) * sizes_.shape[2] + x.at[c];
            // Outside is the first element, which weighs nothing.
            table.outside[at] = outside;
            table.places[at] = outside ? 0 : static_cast<std::int32_t>(place);
            table.weights[at] = outside ? 0 : z.weight[a] * y.weight[b] * x.weight[c];
            table.whole = table.whole && !outside;
          }
        }
      }
    }
  }

  void sample(std::size_t image, std::size_t first, std::size_t count, std::size_t from,
              std::size_t to) const {
    Table table;
    fill(table, image, first, count);
    alignas(64) F made[sample_room];
    for (std::size_t channel = from; channel < to; ++channel) {
      const std::size_t plane = image * channels_ + channel;
      const T* const x = input_ + plane * cells_;
      T* const target = output_ + plane * points_ + first;
      if constexpr (is_computed<T>) {
        if (table.whole || std::isfinite(x[0])) {
          window_kernels<F>().weigh_places(x, table.places, table.weights, taps_, target, count);
          continue;
        }
      }
      add_taps(x, table, made, count);
      write_row(made, target, count);
    }
  }

  /// What is outside is nothing, also where the first element is NaN or infinite.
  void add_taps(const T* x, const Table& table, F* made, std::size_t count) const {
    std::fill_n(made, count, F{0});
    T found[sample_room];
    F values[sample_room];
    for (std::size_t tap = 0; tap < taps_; ++tap) {
      const std::int32_t* const places = table.places + tap * count;
      const F* const weights = table.weights + tap * count;
      const bool* const outside = table.outside + tap * count;
      for (std::size_t i = 0; i < count; ++i) found[i] = x[places[i]];
      read_row(found, values, count);
      for (std::size_t i = 0; i < count; ++i) {
        made[i] += outside[i] ? F{0} : weights[i] * values[i];
      }
    }
  }

  const Sampler<F> sampler_;
  const SampleSizes sizes_;
  const T *const input_, *const grid_;
  T* const output_;
  const std::size_t points_, channels_, cells_;
  std::size_t taps_ = 1;
};

}  // namespace

void CpuBackend::do_grid_sample(const GridSampleRequest& r) {
  require_int32("grid_sample", r.sizes);
  with_any_float(r.dtype, [&]<class T>(T) { Sampling<T>(r).run(); });
}

}  // namespace tilewright::cpu
