#include <algorithm>
#include <array>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

constexpr auto tile_names = [] {
  std::array<std::string_view, std::size(matrix_tiles) + 1> names{"plain"};
  for (std::size_t i = 0; i < std::size(matrix_tiles); ++i) names[i + 1] = matrix_tiles[i].name;
  return names;
}();

Size count(Size size, Size part) { return (size + part - 1) / part; }

DType sums_of(DType factors) {
  return factors == DType::float16 ? DType::float32
         : factors == DType::int8  ? DType::int32
                                   : DType::uint32;
}

/// As matrix_halves.wgsl and matrix_bytes.wgsl have it.
MatrixPlace place_of(DType factors, const MatrixShape& shape) {
  if (factors == DType::float16) return place_of_halves;
  return shape.k % 16 == 0 ? MatrixPlace{16, 16} : MatrixPlace{8, 8};
}

}  // namespace

const MatrixShape* matrix_shape(const DeviceLimits& limits, const MatrixTile& tile, DType dtype) {
  const MatrixShape* found = nullptr;
  for (const MatrixShape& shape : limits.matrix_shapes) {
    if (shape.in != dtype || shape.out != sums_of(dtype)) continue;
    const auto divides = [](Size of_tile, std::uint32_t of_unit) {
      return of_unit % 8 == 0 && of_tile % of_unit == 0;
    };
    if (!divides(tile.wm, shape.m) || !divides(tile.wn, shape.n) || !divides(tile.bk, shape.k)) {
      continue;
    }
    const auto work = [](const MatrixShape& s) { return s.m * s.n * s.k; };
    if (found == nullptr || work(shape) > work(*found)) found = &shape;
  }
  return found;
}

namespace {

/// Whether DPAS has the tile: the kernel of those is compiled for some.
bool is_of_blocks(const MatrixTile& tile, std::uint32_t lanes) {
  return tile.wn <= 32 && (tile.wm <= 32 || lanes == 16);
}

}  // namespace

bool can_run(const DeviceLimits& limits, const MatrixTile& tile, bool trans_a, bool trans_b,
             DType dtype) {
  if (limits.block_lanes != 0) {
    return is_of_blocks(tile, limits.block_lanes) && tile.subgroups() * 16 <= limits.max_group_size;
  }
  const MatrixShape* shape = matrix_shape(limits, tile, dtype);
  if (shape == nullptr) return false;
  const MatrixPlace place = place_of(dtype, *shape);
  const Size threads = tile.subgroups() * limits.matrix_lanes;
  const auto shared_out = [&](Size lines) {
    return lines * tile.bk / place.factors % threads == 0;
  };
  return tile.memory(trans_a, trans_b, shape->m, place) <= limits.local_memory_bytes &&
         threads <= limits.max_group_size && shared_out(tile.bm) && shared_out(tile.bn);
}

constinit const ChoicePoint gemm_matrix_choice{
    "gemm_matrix", tile_names, {"trans_a", "trans_b", "to_float16"}};

std::optional<MatrixForm> GpuBackend::matrix_form(const GemmRequest& r, const GemmRequest& asked,
                                                  double plain_cost) const {
  const DeviceLimits& limits = device_->limits();
  if ((limits.matrix_lanes == 0 && limits.block_lanes == 0) || r.dtype != DType::float16 ||
      r.rounding || r.alpha == 0 || r.k == 0) {
    return std::nullopt;
  }
  const GemmWork work{r.m, r.n, r.k, r.batch_count, true, true, limits.planned_units};
  std::size_t rule = 0;
  double least = plain_cost;
  std::array<double, std::size(matrix_tiles)> costs{};
  for (std::size_t i = 0; i < std::size(matrix_tiles); ++i) {
    if (!can_run(limits, matrix_tiles[i], r.trans_a, r.trans_b)) continue;
    const GemmTile tile = matrix_tiles[i].costs();
    costs[i] = gemm_cost(work, tile, r.m, gemm_tile_pieces(work, tile, r.m));
    if (costs[i] < least) {
      least = costs[i];
      rule = i + 1;
    }
  }
  const std::size_t picked = choices_->pick(
      gemm_matrix_choice, {asked.m, asked.n, asked.k, asked.batch_count},
      {r.trans_a, r.trans_b, r.output_dtype == DType::float16}, rule, [&](std::size_t candidate) {
        return candidate == 0 || can_run(limits, matrix_tiles[candidate - 1], r.trans_a, r.trans_b);
      });
  if (picked == 0) return std::nullopt;
  const MatrixTile& tile = matrix_tiles[picked - 1];
  const MatrixShape blocks{DType::float16, DType::float32, 8, limits.block_lanes, 16};
  return MatrixForm{picked - 1, limits.block_lanes != 0 ? blocks : *matrix_shape(limits, tile),
                    gemm_tile_pieces(work, tile.costs(), r.m), costs[picked - 1]};
}

void GpuBackend::multiply_matrix(const GemmRequest& r, const MatrixForm& form, const GemmOperand& a,
                                 const GemmOperand& b, const GemmTarget& target) {
  const bool is_of_bytes = r.dtype != DType::float16;
  const bool has_own_tiles = is_of_bytes && device_->limits().block_lanes == 0;
  const MatrixTile& tile = has_own_tiles ? byte_tiles[form.tile] : matrix_tiles[form.tile];
  const GemmEnd* const end = target.end;
  const Size gap = end ? end->gap : 0;
  const Size tiles_m = count(r.m, tile.bm);
  const Size tiles_n = count(r.n - gap, gap != 0 ? tile.bn / 2 : tile.bn);
  const bool vector_c = (r.n - gap) % 4 == 0 && target.ld % 4 == 0 && target.stride % 4 == 0;
  const bool half_c = target.dtype == DType::float16;
  const std::uint32_t ending = end ? 1 + static_cast<std::uint32_t>(end->activation) : 0;
  const std::uint32_t layout =
      (r.trans_a ? 8u : 0u) + (r.trans_b ? 4u : 0u) + (vector_c ? 2u : 0u) + (half_c ? 1u : 0u);
  const bool is_scaled = target.largest != nullptr;
  const std::uint32_t type = !is_of_bytes ? 0 : r.dtype == DType::int8 ? 1 : 2;
  const std::uint32_t forms =
      ((type * 2 + (is_scaled ? 1u : 0u)) * 2 + (target.is_added ? 1u : 0u)) * 2 +
      (gap != 0 ? 1u : 0u);
  const std::uint32_t variant =
      ((static_cast<std::uint32_t>(form.tile) * 16 + ending) * 32 + forms) * 16 + layout;
  const auto fill = [&](TemplateVariables& v) {
    v = {{"BM", tile.bm},
         {"BN", tile.bn},
         {"BK", tile.bk},
         {"WM", tile.wm},
         {"WN", tile.wn},
         {"UM", std::int64_t{form.shape.m}},
         {"UN", std::int64_t{form.shape.n}},
         {"UK", std::int64_t{form.shape.k}},
         {"LANES",
          std::int64_t{std::max(device_->limits().matrix_lanes, device_->limits().block_lanes)}},
         {"TA", std::int64_t{r.trans_a}},
         {"TB", std::int64_t{r.trans_b}},
         {"T", std::string(std::array{"f16", "i8", "u8"}[type])},
         {"TC", std::string(is_of_bytes ? "i32"
                            : half_c    ? "f16"
                                        : "f32")},
         {"VECTOR_C", std::int64_t{vector_c}},
         {"ADDED", std::int64_t{target.is_added}},
         {"SCALED", std::int64_t{is_scaled}},
         {"END", std::int64_t{end != nullptr}},
         {"GATED", std::int64_t{gap != 0}},
         {"ACTIVATION", std::string(to_string(end ? end->activation : Activation::none))}};
  };
  struct Params {
    std::uint32_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, tiles_m, tiles_n, pieces,
        piece, first;
    float alpha, beta;
  } params{u32(r.m),           u32(r.n),
           u32(r.k),           u32(a.ld),
           u32(b.ld),          u32(target.ld),
           u32(a.stride),      u32(b.stride),
           u32(target.stride), u32(tiles_m),
           u32(tiles_n),       u32(target.pieces),
           u32(target.piece),  0,
           target.alpha,       target.beta};
  const std::array<Binding, 4> bindings{a.binding, b.binding, target.binding,
                                        end         ? end->bias
                                        : is_scaled ? *target.largest
                                                    : a.binding};
  const auto tiles = cover(static_cast<std::uint64_t>(tiles_m * tiles_n), 1);
  const Size products = r.batch_count * target.pieces;
  const Size most = device_->limits().max_groups;
  for (Size first = 0; first < products; first += most) {
    params.first = u32(first);
    const std::array<std::uint32_t, 3> grid{tiles[0], u32(std::min(most, products - first)),
                                            tiles[1]};
    if (end == nullptr) {
      const auto bound = std::span(bindings).first(is_scaled ? 4 : 3);
      run(KernelId::gemm_matrix, variant, params, bound, grid, fill);
      continue;
    }
    const struct {
      Params of_products;
      std::uint32_t is_biased;
      float slope;
      std::uint32_t zero, gap;
    } with_end{params, end->is_biased ? 1u : 0u, end->slope, 0, u32(gap)};
    run(KernelId::gemm_matrix, variant, with_end, bindings, grid, fill);
  }
}

}  // namespace tilewright::gpu
