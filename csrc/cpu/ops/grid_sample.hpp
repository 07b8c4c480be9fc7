#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/sample_axes.hpp"
#include "tilewright/types.hpp"

// Where grid_sample() finds the elements of a point.
namespace tilewright::cpu {

/// Throws Unsupported where int32 does not count the elements of a plane.
void require_int32(std::string_view op, const SampleSizes& sizes);

/// Points that tables are made of at a time.
inline constexpr std::size_t sample_room = 256;

template <class F>
struct SampleAxis {
  std::size_t count = 0;               ///< taps
  std::array<std::int32_t, 4> at{};    ///< -1: outside
  std::array<F, 4> weight{}, slope{};  ///< slope: of the weight, by the grid's coordinate
};

template <class F>
class Sampler {
 public:
  Sampler(SampleMode mode, SamplePadding padding, bool align_corners)
      : mode_(mode), padding_(padding), aligned_(align_corners) {}

  std::size_t taps_of_axis() const {
    return mode_ == SampleMode::nearest ? 1 : mode_ == SampleMode::bilinear ? 2 : 4;
  }

  SampleAxis<F> axis(F coordinate, Size length) const {
    constexpr F far = static_cast<F>(Size{1} << 30);
    const F size = static_cast<F>(length);
    const F by = aligned_ ? (size - 1) / 2 : size / 2;
    F x = aligned_ ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
    F turn = by;
    const bool finite = std::isfinite(coordinate) && std::isfinite(x);
    if (!finite && padding_ == SamplePadding::reflection) {
      x = 0;
      turn = 0;
    } else {
      x = x > -far ? std::min(x, far) : -far;  // NaN is taken for -infinity
    }
    if (mode_ == SampleMode::bicubic) return cubic(x, by, length);
    if (padding_ == SamplePadding::reflection && finite) turn *= reflect(x, size);
    if (padding_ != SamplePadding::zeros) {
      if (!(x > 0 && x < size - 1)) turn = 0;
      x = std::clamp(x, F{0}, size - 1);
    }
    SampleAxis<F> made;
    if (mode_ == SampleMode::nearest) {
      made.count = 1;
      const F low = floor_of(x), off = x - low;
      const bool odd = (static_cast<std::int64_t>(low) & 1) != 0;
      const bool up = off > F{0.5} || (off == F{0.5} && odd);
      made.at[0] = inside(static_cast<std::int64_t>(low) + (up ? 1 : 0), length);
      made.weight[0] = 1;
      return made;
    }
    const F low = floor_of(x);
    const auto first = static_cast<std::int64_t>(low);
    made.count = 2;
    made.at = {inside(first, length), inside(first + 1, length)};
    made.weight = {low + 1 - x, x - low};
    made.slope = {-turn, turn};
    return made;
  }

 private:
  /// Without a call, which compilers make of std::floor where not every processor has it.
  static F floor_of(F x) {
    constexpr F most = static_cast<F>(Size{1} << 31);
    if (!(std::abs(x) < most)) return std::floor(x);
    const auto whole = static_cast<F>(static_cast<std::int64_t>(x));
    return whole > x ? whole - 1 : whole;
  }

  static std::int32_t inside(std::int64_t at, Size length) {
    return at >= 0 && at < length ? static_cast<std::int32_t>(at) : -1;
  }

  /// Mirrors x at both edges; whether it then runs the other way.
  F reflect(F& x, F size) const {
    const F low = aligned_ ? F{0} : F{-0.5};
    const F span = aligned_ ? size - 1 : size;
    if (span == 0) {
      x = 0;
      return 0;
    }
    F turn = x < low ? F{-1} : F{1};
    const F from = std::abs(x - low);
    const F flips = floor_of(from / span);
    const F rest = from - flips * span;
    const bool odd = flips - 2 * floor_of(flips / 2) != 0;
    x = (odd ? span - rest : rest) + low;
    return odd ? -turn : turn;
  }

  std::int32_t padded(std::int64_t at, Size length) const {
    if (padding_ == SamplePadding::zeros) return inside(at, length);
    if (padding_ == SamplePadding::border) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(at, 0, length - 1));
    }
    const std::int64_t period = aligned_ ? 2 * (length - 1) : 2 * length;
    if (period == 0) return 0;
    at = (at % period + period) % period;
    if (at < length) return static_cast<std::int32_t>(at);
    return static_cast<std::int32_t>(aligned_ ? period - at : period - 1 - at);
  }

  /// Keys' cubic with a = -0.75.
  SampleAxis<F> cubic(F x, F by, Size length) const {
    constexpr F a = F{-0.75};
    const auto near = [](F t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
    const auto far = [](F t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
    const auto near_slope = [](F t) { return (3 * (a + 2) * t - 2 * (a + 3)) * t; };
    const auto far_slope = [](F t) { return (3 * a * t - 10 * a) * t + 8 * a; };
    const F low = floor_of(x), t = x - low;
    const auto first = static_cast<std::int64_t>(low);
    SampleAxis<F> made;
    made.count = 4;
    for (std::size_t i = 0; i < 4; ++i) {
      made.at[i] = padded(first - 1 + static_cast<std::int64_t>(i), length);
    }
    made.weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    made.slope = {by * far_slope(t + 1), by * near_slope(t), -by * near_slope(1 - t),
                  -by * far_slope(2 - t)};
    return made;
  }

  SampleMode mode_;
  SamplePadding padding_;
  bool aligned_;
};

/// The axes of a point in the order of shape; of 2, the first one is depth without extent.
template <class F>
std::array<SampleAxis<F>, sample_axes> sample_point(const Sampler<F>& sampler, const F* coordinates,
                                                    const SampleSizes& sizes) {
  std::array<SampleAxis<F>, sample_axes> made;
  for (std::size_t i = 0; i < sizes.axes; ++i) {
    const std::size_t axis = sample_axes - 1 - i;
    made[axis] = sampler.axis(coordinates[i], sizes.shape[axis]);
  }
  if (sizes.axes == 2) {
    made[0].count = 1;
    made[0].at[0] = 0;
    made[0].weight[0] = 1;
  }
  return made;
}

}  // namespace tilewright::cpu
