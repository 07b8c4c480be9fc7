#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/conv2d.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

constexpr auto candidates = [] {
  std::array<std::string_view, first_matrix_choice + std::size(matrix_tiles)> names{};
  names[0] = "direct";
  names[winograd_choice] = "winograd";
  for (std::size_t i = 0; i < std::size(matrix_tiles); ++i) {
    names[first_matrix_choice + i] = matrix_tiles[i].name;
  }
  return names;
}();

/// Microseconds by which few outputs take longer in pieces than a product's cost says.
constexpr double joining = 12;
/// And kernels without matrix units than theirs.
constexpr double left_out = 30;

/// Microseconds of the kernels without transforms, which take one tile's time also where there are
/// few.
double direct_cost(const Conv2dRequest& r, Size places, Size units) {
  const auto depth = static_cast<double>(r.channels / r.groups * r.filter_height * r.filter_width);
  return slower(units) * 2 * static_cast<double>(r.filters) * depth * static_cast<double>(places) /
             41e6 +
         0.03 * depth;
}

/// The same on matrix units, with what lays the operands out.
double matrix_cost(const MatrixConv& conv, const MatrixTile& tile, const Conv2dRequest& r,
                   Size units) {
  constexpr double launch = 8, bytes_per_microsecond = 2.5e6;
  const GemmWork work{conv.rows, conv.columns, conv.depth(), r.groups, true, true, units};
  const double bytes =
      2 * static_cast<double>(conv.source_bytes(r) + conv.filter_bytes(r)) * slower(units);
  const int launches = (conv.packs_source ? 1 : 0) + (conv.packs_filter ? 1 : 0);
  const Size pieces = pieces_of(conv, tile, r, units);
  return gemm_cost(work, tile.costs(), conv.rows, pieces) + (pieces > 1 ? joining : 0) +
         launches * launch + bytes / bytes_per_microsecond;
}

}  // namespace

Size pieces_of(const MatrixConv& conv, const MatrixTile& tile, const Conv2dRequest& r, Size units) {
  if (r.op == ConvOp::forward && r.activation != Activation::none) return 1;
  const GemmWork work{conv.rows, conv.columns, conv.depth(), r.groups, true, true, units};
  const Size pieces = gemm_tile_pieces(work, tile.costs(), conv.rows);
  const double cut = gemm_cost(work, tile.costs(), conv.rows, pieces);
  return cut + joining < gemm_cost(work, tile.costs(), conv.rows, 1) ? pieces : 1;
}

constinit const ChoicePoint conv2d_forward_choice{
    "conv2d_forward", candidates, {"float16", "unit_steps", "backward_data"}};

std::size_t GpuBackend::conv_choice(const Conv2dRequest& r) const {
  const DeviceLimits& limits = device_->limits();
  const bool backward = r.op == ConvOp::backward_data;
  std::optional<MatrixConv> conv;
  if (limits.matrix_lanes > 0) conv = matrix_conv(r, limits, scratch_limit());
  const bool winograd = !backward && can_winograd(r);
  if (!conv && !winograd) return 0;
  const auto fits = [&](std::size_t candidate) {
    if (candidate < first_matrix_choice) return candidate == 0 || winograd;
    return conv && can_run(limits, matrix_tiles[candidate - first_matrix_choice], false,
                           conv->packs_source);
  };
  const Size units = limits.planned_units;
  const Size places = r.batch * (backward ? r.height * r.width : r.out_height * r.out_width);
  double least = 0.9 * direct_cost(r, places, units);
  std::size_t rule = 0;
  const auto compare = [&](std::size_t candidate, double cost) {
    if (cost < least) {
      least = cost;
      rule = candidate;
    }
  };
  if (winograd) compare(winograd_choice, winograd_cost(r));
  least += left_out;
  for (std::size_t i = 0; i < std::size(matrix_tiles); ++i) {
    if (fits(first_matrix_choice + i)) {
      compare(first_matrix_choice + i, matrix_cost(*conv, matrix_tiles[i], r, units));
    }
  }
  const Pair one{1, 1};
  return choices_->pick(conv2d_forward_choice,
                        {r.filters, r.channels, places, r.filter_height * r.filter_width, r.groups},
                        {r.dtype == DType::float16, r.stride == one && r.dilation == one, backward},
                        rule, fits);
}

}  // namespace tilewright::gpu
