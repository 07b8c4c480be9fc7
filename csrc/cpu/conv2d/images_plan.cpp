#include <algorithm>
#include <utility>
#include <vector>

#include "cpu/conv2d/images.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Grids of more positions see too little padding.
constexpr Size most_positions = 1024;
/// Floats of planes and of results of a task, which stay in the second-level cache.
constexpr Size most_planes = Size{1} << 19, most_results = Size{1} << 17;
/// What a vector that is turned, and one that is copied, takes in products of a vector and a
/// weight; what a call takes, and each of its taps.
constexpr double turn_cost = 8, result_cost = 10, copy_cost_of_vector = 3, call_cost = 90,
                 tap_cost = 3;
/// What a vector that is read takes: of planes, of weights that stay in the second-level cache, and
/// of more of them.
constexpr double of_near_vector = 1, of_weights_near = 2.5, of_weights_far = 4;
constexpr Size near_weights = Size{1} << 17;
/// Floats of planes that stay in the first-level cache; what others take, in cycles, and what a
/// tile of sums takes.
constexpr Size nearest_planes = Size{1} << 12;
constexpr double near_float = 0.1, far_float = 0.25, of_tile = 60;

std::vector<AxisTap> seen_taps(const ConvAxis& axis, const TargetPhase& phase, Size first,
                               Size last) {
  std::vector<AxisTap> taps;
  for (const AxisTap& tap : phase.taps) {
    if (axis.seen_at(last, tap) >= 0 && axis.seen_at(first, tap) < axis.source_size) {
      taps.push_back(tap);
    }
  }
  return taps;
}

/// Of the taps of an axis at all its positions, how many see more than padding.
double seen_share(const ConvAxis& axis) {
  Size seen = 0, all = 0;
  for (const TargetPhase& phase : axis.target_phases) {
    for (const AxisTap& tap : phase.taps) {
      for (Size i = axis.begin; i < axis.end; ++i, ++all) {
        const Size at = axis.seen_at(i, tap);
        if (at >= 0 && at < axis.source_size) ++seen;
      }
    }
  }
  return all > 0 ? static_cast<double>(seen) / static_cast<double>(all) : 1;
}

/// Segments of as many columns that see the source through as many taps.
struct AlikeSegments {
  Size columns, taps, count;
};

std::vector<AlikeSegments> alike(const std::vector<AxisPart>& parts) {
  std::vector<AlikeSegments> all;
  for (const AxisPart& part : parts) {
    for (const Segment& segment : part.segments) {
      const Size columns = segment.end - segment.begin;
      const Size taps = static_cast<Size>(segment.taps.size());
      const auto found = std::ranges::find_if(all, [&](const AlikeSegments& one) {
        return one.columns == columns && one.taps == taps;
      });
      found == all.end() ? all.push_back({columns, taps, 1}) : void(++found->count);
    }
  }
  return all;
}

class Planner {
 public:
  explicit Planner(const ImagesWork& work) : w_(work), rows_(alike(parts_of(work.rows, 1))) {}

  ImagesPlan plan() {
    const Size results = std::min(w_.filters, 3 * lanes()) * w_.targets();
    // Threads share the images and the runs of filters.
    const Size threads = static_cast<Size>(thread_count());
    const Size shared = threads == 1 ? w_.batch
                                     : w_.batch * w_.groups *
                                           ceil_div(w_.filters, images_run_filters) / (2 * threads);
    const Size most =
        std::max<Size>(std::min({most_planes / (w_.channels * w_.channel_floats),
                                 most_results / results, w_.batch, shared, longest_images_run}),
                       1);
    std::vector<Size> counts;
    for (Size parts = ceil_div(w_.batch, most); parts <= w_.batch && counts.size() < 9; ++parts) {
      const Size images = ceil_div(w_.batch, parts);
      if (counts.empty() || images < counts.back()) counts.push_back(images);
    }
    choose(counts);
    return plan_;
  }

 private:
  void choose(const std::vector<Size>& counts) {
    const double weights = static_cast<double>(w_.groups * w_.filters * w_.channels * w_.taps) /
                           static_cast<double>(lanes()) * turn_cost;
    for (const Size columns : {1, 2, 3, 4, 6, 8, 12, 16, 32}) {
      if (columns > 1 && columns * 3 / 4 >= w_.columns.size()) break;
      const std::vector<AlikeSegments> parts = alike(parts_of(w_.columns, columns));
      for (const Size images : counts) {
        if (columns > 1 && columns * images > longest_images_run) continue;
        const Size left = w_.batch % images;
        for (const bool is_filters_wide : {false, true}) {
          double cost =
              static_cast<double>(w_.batch / images) * cost_of(images, parts, is_filters_wide);
          if (left > 0) cost += cost_of(left, parts, is_filters_wide);
          if (is_filters_wide) cost += weights;
          if (cost < plan_.cost) plan_ = {cost, images, columns, is_filters_wide};
        }
      }
    }
  }

  /// In products of a vector and a weight.
  double cost_of(Size images, const std::vector<AlikeSegments>& columns,
                 bool is_filters_wide) const {
    double row_taps = 0, rows = 0;
    double all = 0;
    const double channels = static_cast<double>(w_.channels);
    const double runs = static_cast<double>(
        ceil_div(w_.filters, is_filters_wide ? 3 * lanes() : images_run_filters));
    const Size vectors = ceil_div(w_.filters, lanes());
    const Size weights = w_.channels * w_.taps * lanes() * ceil_div(vectors, ceil_div(vectors, 3));
    const double of_weights = weights <= near_weights ? of_weights_near : of_weights_far;
    for (const AlikeSegments& row : rows_) {
      row_taps += static_cast<double>(row.count * row.taps);
      rows += static_cast<double>(row.count);
    }
    for (const AlikeSegments& segment : columns) {
      const Size positions = segment.columns * images;
      const double taps = row_taps * static_cast<double>(segment.taps);
      const double product =
          is_filters_wide ? tiles_cost(positions, vectors, of_weights)
                          : tiles_cost(w_.filters, ceil_div(positions, lanes()), of_near_vector);
      double own = taps * (channels * product + tap_cost * runs) + rows * call_cost * runs;
      const double tiles =
          is_filters_wide
              ? static_cast<double>(ceil_div(positions, product_rows()) * ceil_div(vectors, 3))
              : static_cast<double>(ceil_div(w_.filters, product_rows()) *
                                    ceil_div(ceil_div(positions, lanes()), 3));
      own += rows * tiles * product_cycle() * of_tile;
      // Those that no other tap sees are read from afar for each tile of filters.
      const Size columns_seen =
          std::min(segment.columns * segment.taps, segment.columns + w_.columns.span());
      const double seen = channels * row_taps * static_cast<double>(columns_seen * images);
      if (!is_filters_wide && seen > static_cast<double>(nearest_planes) * rows) {
        const bool is_near = w_.channels * w_.channel_floats * images <= near_weights;
        own += seen * static_cast<double>(ceil_div(w_.filters, product_rows())) * product_cycle() *
               (is_near ? near_float : far_float);
      }
      all += static_cast<double>(segment.count) * own;
    }
    const auto floats = [](Size n) {
      return static_cast<double>(n) / static_cast<double>(lanes());
    };
    const Size sources = w_.sources();
    const Size targets = w_.targets();
    all += floats(w_.channels * images) *
           (static_cast<double>(w_.channel_floats) *
                (images > 1 && w_.columns.source_step == 1 ? copy_cost_of_vector : pack_cost) +
            static_cast<double>(images > 1 ? sources : 0) * turn_cost);
    all += floats(w_.filters * images * targets) * result_cost;
    return all * static_cast<double>(w_.groups);
  }

  const ImagesWork& w_;
  std::vector<AlikeSegments> rows_;
  ImagesPlan plan_;
};

}  // namespace

std::vector<AxisPart> parts_of(const ConvAxis& axis, Size length) {
  std::vector<AxisPart> parts;
  for (const TargetPhase& phase : axis.target_phases) {
    AxisPart part{phase.offset, axis.targets_at(phase.offset), {}};
    const Size count = part.range.size(), pieces = ceil_div(count, length);
    for (Size i = 0; i < pieces; ++i) {
      const Size begin = i * count / pieces, end = (i + 1) * count / pieces;
      part.segments.push_back(
          {begin, end,
           seen_taps(axis, phase, part.range.begin + begin, part.range.begin + end - 1)});
    }
    if (count > 0) parts.push_back(std::move(part));
  }
  return parts;
}

ImagesPlan plan_images(const ImagesWork& work) {
  // Else a plan takes longer than it saves.
  constexpr double least_products = 1 << 20, most_share = 0.93;
  const Size grid = work.rows.size() * work.columns.size();
  const double products = static_cast<double>(grid * work.batch) *
                          static_cast<double>(work.groups * work.channels) *
                          static_cast<double>(work.filters * work.taps);
  if (grid > most_positions || products < least_products || work.targets() == 0 ||
      work.channels * work.channel_floats > most_planes) {
    return {};
  }
  const double share = seen_share(work.rows) * seen_share(work.columns);
  if (share > most_share) return {};
  return Planner(work).plan();
}

}  // namespace tilewright::cpu
