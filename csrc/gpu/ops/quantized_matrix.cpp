#include <array>
#include <string_view>

#include "core/ops/quantized_matmul.hpp"
#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/ops/quantized.hpp"

namespace tilewright::gpu {

namespace {

constexpr auto names = [] {
  std::array<std::string_view, std::size(quantized_matrix_tiles) + 1> all{"plain"};
  for (std::size_t i = 0; i < std::size(quantized_matrix_tiles); ++i) {
    all[i + 1] = quantized_matrix_tiles[i].name;
  }
  return all;
}();

bool can_take(const DeviceLimits& limits, const MatrixTile& tile) {
  const Size threads = tile.subgroups() * limits.matrix_lanes;
  return can_run(limits, tile, false, true) && tile.bn % threads == 0;
}

}  // namespace

constinit const ChoicePoint quantized_matrix_choice{"quantized_matmul_matrix", names, {}};

std::optional<QuantizedMatrixForm> GpuBackend::quantized_matrix_form(
    const QuantizedMatmulRequest& r) const {
  const DeviceLimits& limits = device_->limits();
  if (limits.matrix_lanes == 0 || r.dtype != DType::float16 || r.ldx % 8 != 0) return {};
  const GemmWork work{r.m, r.n, r.k, 1, true, true, limits.planned_units};
  std::size_t rule = 0;
  double least = 0;
  for (std::size_t i = 0; i < std::size(quantized_matrix_tiles); ++i) {
    if (!can_take(limits, quantized_matrix_tiles[i])) continue;
    const GemmTile tile = quantized_matrix_tiles[i].costs();
    const double cost = gemm_cost(work, tile, r.m, gemm_tile_pieces(work, tile, r.m));
    if (rule != 0 && cost >= least) continue;
    least = cost;
    rule = i + 1;
  }
  if (rule == 0) return {};
  const std::size_t picked = choices_->pick(
      quantized_matrix_choice, {r.m, r.n, r.k}, {}, rule, [&](std::size_t candidate) {
        return candidate == 0 || can_take(limits, quantized_matrix_tiles[candidate - 1]);
      });
  if (picked == 0) return {};
  const GemmTile tile = quantized_matrix_tiles[picked - 1].costs();
  return QuantizedMatrixForm{picked - 1, gemm_tile_pieces(work, tile, r.m)};
}

void GpuBackend::multiply_quantized_matrix(const QuantizedMatmulRequest& r, std::size_t index,
                                           const QuantizedTarget& target,
                                           std::span<const Binding> bindings) {
  const MatrixTile& tile = quantized_matrix_tiles[index];
  const MatrixShape& shape = *matrix_shape(device_->limits(), tile);
  const auto count = [](Size size, Size part) { return (size + part - 1) / part; };
  const Size across = count(r.n, tile.bn), tiles = across * count(r.m, tile.bm);
  const bool vector_c = r.n % 4 == 0 && target.ld % 4 == 0;
  const struct {
    std::uint32_t m, n, groups, x_stride, y_stride, across, tiles, piece, piece_stride, adds;
  } params{u32(r.m),    u32(r.n),   u32(r.k / quant_group), u32(r.ldx / 8), u32(target.ld),
           u32(across), u32(tiles), u32(target.piece),      u32(r.m * r.n), target.adds ? 1u : 0u};
  const std::uint32_t variant =
      ((static_cast<std::uint32_t>(r.format) * 2 + half_bit(target.dtype)) * 2 +
       (vector_c ? 1u : 0u)) *
          16 +
      static_cast<std::uint32_t>(index);
  run(KernelId::quantized_matrix, variant, params, bindings,
      cover(static_cast<std::uint64_t>(tiles * target.pieces), 1), [&](TemplateVariables& v) {
        set_quantized(v, r.dtype, r.format);
        v["TC"] = type_name(target.dtype);
        v["VECTOR_C"] = std::int64_t{vector_c};
        v["BM"] = tile.bm;
        v["BN"] = tile.bn;
        v["BK"] = tile.bk;
        v["TA"] = std::int64_t{0};
        v["TB"] = std::int64_t{1};
        v["WM"] = tile.wm;
        v["WN"] = tile.wn;
        v["UM"] = std::int64_t{shape.m};
        v["UN"] = std::int64_t{shape.n};
        v["UK"] = std::int64_t{shape.k};
        v["LANES"] = std::int64_t{device_->limits().matrix_lanes};
      });
}

}  // namespace tilewright::gpu
