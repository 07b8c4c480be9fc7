#include "core/ops/grid_sample_backward_grid.hpp"

#include <algorithm>
#include <array>

#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/float_rows.hpp"
#include "cpu/ops/grid_sample.hpp"
#include "cpu/thread_pool.hpp"

// The sums over channels of gradient times element come first, one for each tap of a point.
namespace tilewright::cpu {

namespace {

constexpr std::size_t most_taps = 16;

template <class T>
class GridGradient {
 public:
  using F = Computed<T>;

  explicit GridGradient(const GridGradientRequest& r)
      : sampler_(r.mode, r.padding, r.align_corners),
        sizes_(r.sizes),
        grad_(data<T>(r.grad_output)),
        input_(data<T>(r.input)),
        grid_(data<T>(r.grid)),
        result_(data<T>(r.grad_grid)),
        points_(static_cast<std::size_t>(r.sizes.points)),
        channels_(static_cast<std::size_t>(r.sizes.channels)),
        cells_(static_cast<std::size_t>(r.sizes.cells)) {
    for (std::size_t i = 0; i < sizes_.axes; ++i) taps_ *= sampler_.taps_of_axis();
  }

  void run() const {
    const std::size_t parts = (points_ + room - 1) / room;
    const std::size_t work = std::min(points_, room) * taps_ * channels_;
    parallel_units(static_cast<std::size_t>(sizes_.batch) * parts, work, [&](std::size_t unit) {
      const std::size_t first = unit % parts * room;
      differentiate(unit / parts, first, std::min(room, points_ - first));
    });
  }

 private:
  static constexpr std::size_t room = 64;  // points
  using Point = std::array<SampleAxis<F>, sample_axes>;

  void differentiate(std::size_t image, std::size_t first, std::size_t count) const {
    const std::size_t axes = sizes_.axes;
    F coordinates[room * sample_axes];
    Point points[room];
    std::int32_t places[most_taps * room];
    F sums[most_taps * room] = {};
    const std::size_t at = (image * points_ + first) * axes;
    read_row(grid_ + at, coordinates, count * axes);
    for (std::size_t i = 0; i < count; ++i) {
      points[i] = sample_point(sampler_, coordinates + i * axes, sizes_);
      for_taps(points[i], [&](std::size_t tap, std::size_t a, std::size_t b, std::size_t c) {
        const auto& [z, y, x] = points[i];
        const bool outside = (z.at[a] | y.at[b] | x.at[c]) < 0;
        const Size place = (z.at[a] * sizes_.shape[1] + y.at[b]) * sizes_.shape[2] + x.at[c];
        places[tap * count + i] = outside ? -1 : static_cast<std::int32_t>(place);
      });
    }
    add_channels(image, first, count, places, sums);
    for (std::size_t i = 0; i < count; ++i) {
      std::array<F, sample_axes> by{};
      const auto& [z, y, x] = points[i];
      for_taps(points[i], [&](std::size_t tap, std::size_t a, std::size_t b, std::size_t c) {
        const F sum = sums[tap * count + i];
        by[0] += sum * z.weight[a] * y.weight[b] * x.slope[c];
        by[1] += sum * z.weight[a] * y.slope[b] * x.weight[c];
        by[2] += sum * z.slope[a] * y.weight[b] * x.weight[c];
      });
      std::copy_n(by.begin(), axes, coordinates + i * axes);
    }
    write_row(coordinates, result_ + at, count * axes);
  }

  void add_channels(std::size_t image, std::size_t first, std::size_t count,
                    const std::int32_t* places, F* sums) const {
    T found[room];
    F values[room], grads[room];
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const std::size_t plane = image * channels_ + channel;
      const T* const x = input_ + plane * cells_;
      read_row(grad_ + plane * points_ + first, grads, count);
      for (std::size_t tap = 0; tap < taps_; ++tap) {
        const std::int32_t* const own = places + tap * count;
        for (std::size_t i = 0; i < count; ++i) found[i] = own[i] < 0 ? T{} : x[own[i]];
        read_row(found, values, count);
        F* const to = sums + tap * count;
        for (std::size_t i = 0; i < count; ++i) {
          to[i] += own[i] < 0 ? F{0} : grads[i] * values[i];
        }
      }
    }
  }

  template <class Body>
  static void for_taps(const Point& point, const Body& body) {
    std::size_t tap = 0;
    for (std::size_t a = 0; a < point[0].count; ++a) {
      for (std::size_t b = 0; b < point[1].count; ++b) {
        for (std::size_t c = 0; c < point[2].count; ++c) body(tap++, a, b, c);
      }
    }
  }

  const Sampler<F> sampler_;
  const SampleSizes sizes_;
  const T *const grad_, *const input_, *const grid_;
  T* const result_;
  const std::size_t points_, channels_, cells_;
  std::size_t taps_ = 1;
};

}  // namespace

void CpuBackend::do_grid_sample_backward_grid(const GridGradientRequest& r) {
  require_int32("grid_sample_backward_grid", r.sizes);
  with_any_float(r.dtype, [&]<class T>(T) { GridGradient<T>(r).run(); });
}

}  // namespace tilewright::cpu
