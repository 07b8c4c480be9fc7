#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

constexpr Size large_tile = 128, small_tile = 64;
/// Workgroups that a processor of the GPU runs at a time.
constexpr Size resident = 2;
/// TOP/s of the measured GPU.
constexpr double dot_speed = 62;
/// What a piece of k is at least worth, and what its length is a multiple of.
constexpr Size least_piece = 512, piece_step = 64;

Size count(Size size, Size part) { return (size + part - 1) / part; }

/// What a workgroup reads of a matrix at once: vectors of 16 along k, or words across.
bool whole(bool along, Size extent, Size ld, Size stride) {
  const Size step = along ? 16 : 4;
  return extent % step == 0 && ld % step == 0 && stride % step == 0;
}

std::uint32_t last_word(const Binding& binding) {
  return static_cast<std::uint32_t>((binding.bytes + 3) / 4 - 1);
}

}  // namespace

void GpuBackend::fill_zeros(const Binding& binding, Size words) {
  const struct {
    std::uint32_t n, value;
  } zeros{u32(words), 0};
  run(KernelId::fill, 0, zeros, std::span(&binding, 1),
      cover(static_cast<std::uint64_t>(words), group_size),
      [](TemplateVariables& v) { set_common(v, DType::float32); });
}

void GpuBackend::multiply_bytes(const GemmRequest& r, const Binding& a, const Binding& b,
                                const Binding& c) {
  const DeviceLimits& limits = device_->limits();
  const Size fill = resident * limits.planned_units;
  const auto tiles_of = [&](Size tile) { return count(r.m, tile) * count(r.n, tile); };
  // What is compiled for Intel's GPUs has the small tile, for their registers.
  const bool is_compiled = !limits.compiles_templates;
  const Size tile =
      is_compiled || tiles_of(large_tile) * r.batch_count < fill ? small_tile : large_tile;
  const Size tiles = tiles_of(tile);
  const bool contiguous =
      r.ldc == r.n && (r.batch_count == 1 || r.stride_c == r.m * r.n || r.beta != 0);
  const Size wanted = contiguous ? std::clamp<Size>(fill / (tiles * r.batch_count), 1,
                                                    std::max<Size>(r.k / least_piece, 1))
                                 : 1;
  const Size piece = std::max<Size>(count(count(r.k, wanted), piece_step) * piece_step, piece_step);
  const Size pieces = std::max<Size>(count(r.k, piece), 1);
  const GemmTile costs{"", tile, tile, 0, 0, 0, 1, resident, dot_speed, dot_speed, dot_speed};
  const GemmWork work{r.m, r.n, r.k, r.batch_count, false, true, limits.planned_units};
  if (multiply_bytes_matrix(r, gemm_cost(work, costs, r.m, pieces), a, b, c)) return;
  if (pieces > 1 && r.beta == 0) fill_zeros(c, r.m * r.n * r.batch_count);
  const bool vector_a = !is_compiled && whole(!r.trans_a, r.trans_a ? r.m : r.k, r.lda, r.stride_a);
  const bool vector_b = !is_compiled && whole(r.trans_b, r.trans_b ? r.k : r.n, r.ldb, r.stride_b);
  const bool vector_c = !is_compiled && r.n % 4 == 0 && r.ldc % 4 == 0 && r.stride_c % 4 == 0;
  const std::uint32_t store = pieces > 1 ? 2 : vector_c ? 1 : 0;
  const std::uint32_t is_signed = r.dtype == DType::int8 ? 1 : 0;
  std::uint32_t variant = store;
  for (const bool flag :
       {tile == large_tile, r.trans_a, r.trans_b, is_signed != 0, vector_a, vector_b}) {
    variant = variant * 2 + (flag ? 1 : 0);
  }
  struct {
    std::uint32_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, tiles_n, tiles, pieces,
        piece, first, adds, last_a, last_b;
  } params{u32(r.m),
           u32(r.n),
           u32(r.k),
           u32(r.lda),
           u32(r.ldb),
           u32(r.ldc),
           u32(r.stride_a),
           u32(r.stride_b),
           u32(r.stride_c),
           u32(count(r.n, tile)),
           u32(tiles),
           u32(pieces),
           u32(piece),
           0,
           r.beta != 0 ? 1u : 0u,
           last_word(a),
           last_word(b)};
  const std::array<Binding, 3> bindings{a, b, c};
  const auto groups = cover(static_cast<std::uint64_t>(tiles), 1);
  const Size products = r.batch_count * pieces, most = limits.max_groups;
  for (Size first = 0; first < products; first += most) {
    params.first = u32(first);
    run(KernelId::gemm_bytes, variant, params, bindings,
        {groups[0], u32(std::min(most, products - first)), groups[1]}, [&](TemplateVariables& v) {
          v["TILE"] = tile;
          v["TA"] = std::int64_t{r.trans_a};
          v["TB"] = std::int64_t{r.trans_b};
          v["SIGNED"] = std::int64_t{is_signed};
          v["VECTOR_A"] = std::int64_t{vector_a};
          v["VECTOR_B"] = std::int64_t{vector_b};
          v["STORE"] = std::int64_t{store};
        });
  }
}

}  // namespace tilewright::gpu
