#include <algorithm>
#include <array>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

struct Tile {
  std::string_view name;
  Size bm, bn, bk, tm, tn;
};

/// From small to large; a large one needs enough tiles to fill the GPU.
constexpr Tile tiles[] = {{"32x64", 32, 64, 16, 4, 4},
                          {"64x64", 64, 64, 16, 8, 4},
                          {"64x128", 64, 128, 16, 8, 8},
                          {"128x128", 128, 128, 16, 8, 8}};
constexpr auto tile_names = names_of(tiles);
constexpr Size enough_tiles = 120;

std::size_t choose_tile(const GemmRequest& r) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < std::size(tiles); ++i) {
    const Size count = ((r.m + tiles[i].bm - 1) / tiles[i].bm) *
                       ((r.n + tiles[i].bn - 1) / tiles[i].bn) * r.batch_count;
    if (count >= enough_tiles) chosen = i;
  }
  return chosen;
}

Size reach(Size rows, Size cols, Size ld, Size stride, Size batch) {
  if (rows == 0 || cols == 0) return 1;
  return (batch - 1) * stride + (rows - 1) * ld + cols;
}

}  // namespace

constinit const ChoicePoint gemm_choice{
    "gemm", tile_names, {"trans_a", "trans_b", "float16", "to_float16"}};

void GpuBackend::do_gemm(const GemmRequest& r) {
  require(r.op, r.dtype);
  const std::size_t tile_index = choices_->pick(
      gemm_choice, {r.m, r.n, r.k, r.batch_count},
      {r.trans_a, r.trans_b, r.dtype == DType::float16, r.output_dtype == DType::float16},
      choose_tile(r));
  const Tile& tile = tiles[tile_index];
  const Size tiles_m = (r.m + tile.bm - 1) / tile.bm;
  const Size tiles_n = (r.n + tile.bn - 1) / tile.bn;
  const auto whole_vectors = [](Size extent, Size ld, Size stride) {
    return extent % 4 == 0 && ld % 4 == 0 && stride % 4 == 0;
  };
  const bool no_product = r.alpha == 0;
  const bool vector_a = whole_vectors(r.trans_a ? r.m : r.k, r.lda, r.stride_a);
  const bool vector_b = whole_vectors(r.trans_b ? r.k : r.n, r.ldb, r.stride_b);
  const bool vector_c = whole_vectors(r.n, r.ldc, r.stride_c);
  const bool edge = r.m % tile.bm != 0 || r.n % tile.bn != 0 || r.k % tile.bk != 0;
  const bool beta = r.beta != 0;
  const std::uint32_t rounding = r.rounding ? 1 + static_cast<std::uint32_t>(*r.rounding) : 0;
  std::uint32_t variant = static_cast<std::uint32_t>(tile_index);
  for (bool bit : {r.trans_a, r.trans_b, vector_a, vector_b, vector_c, edge, beta,
                   r.dtype == DType::float16, r.output_dtype == DType::float16}) {
    variant = variant * 2 + (bit ? 1 : 0);
  }
  variant = variant * 4 + rounding;

  const std::array<Binding, 3> bindings{
      bind(r.op, r.a,
           bytes_of(r.trans_a ? reach(r.k, r.m, r.lda, r.stride_a, r.batch_count)
                              : reach(r.m, r.k, r.lda, r.stride_a, r.batch_count),
                    r.dtype)),
      bind(r.op, r.b,
           bytes_of(r.trans_b ? reach(r.n, r.k, r.ldb, r.stride_b, r.batch_count)
                              : reach(r.k, r.n, r.ldb, r.stride_b, r.batch_count),
                    r.dtype)),
      bind(r.op, r.c, bytes_of(reach(r.m, r.n, r.ldc, r.stride_c, r.batch_count), r.output_dtype))};
  const Size tile_bytes = (tile.bm + tile.bn) * tile.bk * static_cast<Size>(sizeof(float));
  const std::int64_t buffers = 2 * tile_bytes <= device_->limits().local_memory_bytes ? 2 : 1;
  const auto fill = [&](TemplateVariables& v) {
    v = {{"BM", tile.bm},
         {"BN", tile.bn},
         {"BK", tile.bk},
         {"TM", tile.tm},
         {"TN", tile.tn},
         {"TA", std::int64_t{r.trans_a}},
         {"TB", std::int64_t{r.trans_b}},
         {"T", type_name(r.dtype)},
         {"TC", type_name(r.output_dtype)},
         {"VECTOR_A", std::int64_t{vector_a}},
         {"VECTOR_B", std::int64_t{vector_b}},
         {"VECTOR_C", std::int64_t{vector_c}},
         {"EDGE", std::int64_t{edge}},
         {"BETA", std::int64_t{beta}},
         {"BUFFERS", std::int64_t{buffers}},
         {"ROUND", std::int64_t{rounding}}};
  };
  struct {
    std::uint32_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, tiles, tiles_n, first_batch;
    float alpha, beta;
  } params{u32(r.m),
           u32(r.n),
           u32(no_product ? 0 : r.k),
           u32(r.lda),
           u32(r.ldb),
           u32(r.ldc),
           u32(r.stride_a),
           u32(r.stride_b),
           u32(r.stride_c),
           u32(tiles_m * tiles_n),
           u32(tiles_n),
           0,
           r.alpha,
           r.beta};
  const Size max_groups = device_->limits().max_groups;
  const auto tile_grid = cover(static_cast<std::uint64_t>(tiles_m * tiles_n), 1);
  for (Size first = 0; first < r.batch_count; first += max_groups) {
    params.first_batch = u32(first);
    const Size batches = std::min(max_groups, r.batch_count - first);
    run(KernelId::gemm, variant, params, bindings, {tile_grid[0], u32(batches), tile_grid[1]},
        fill);
  }
}

}  // namespace tilewright::gpu
