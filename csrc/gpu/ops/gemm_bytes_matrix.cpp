#include <algorithm>
#include <array>
#include <string_view>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Bytes that a kernel reads at once at the most.
constexpr Size vector = 16;
/// Of scratch that one binding holds, where the next part of it may begin.
constexpr std::uint64_t part_step = 256;

constexpr auto tile_names = [] {
  std::array<std::string_view, std::size(byte_tiles) + 1> names{"plain"};
  for (std::size_t i = 0; i < std::size(byte_tiles); ++i) names[i + 1] = byte_tiles[i].name;
  return names;
}();

Size count(Size size, Size part) { return (size + part - 1) / part; }

/// A matrix by the lines of it that run along k: rows of op(A), columns of op(B).
struct Side {
  bool is_across;  ///< k runs down what is stored
  Size lines, ld, stride, matrices;
  bool is_packed;

  std::uint64_t bytes(Size k) const {
    if (!is_packed) return 0;
    const auto all = static_cast<std::uint64_t>(lines * k * matrices);
    return (all + part_step - 1) / part_step * part_step;
  }
};

std::array<Side, 2> sides_of(const GemmRequest& r) {
  const auto side = [&](bool is_across, Size lines, Size ld, Size stride) {
    const bool is_packed =
        is_across || r.k % vector != 0 || ld % vector != 0 || stride % vector != 0;
    return Side{is_across, lines, ld, stride, stride == 0 ? 1 : r.batch_count, is_packed};
  };
  return {side(r.trans_a, r.m, r.lda, r.stride_a), side(!r.trans_b, r.n, r.ldb, r.stride_b)};
}

/// Microseconds.
double packing_cost(std::uint64_t bytes, Size units) {
  constexpr double launch = 2.5, bytes_per_microsecond = 0.8e6;
  if (bytes == 0) return 0;
  return launch + 2 * static_cast<double>(bytes) * static_cast<double>(measured_units) /
                      (bytes_per_microsecond * static_cast<double>(units));
}

}  // namespace

constinit const ChoicePoint gemm_bytes_matrix_choice{
    "gemm_bytes_matrix", tile_names, {"trans_a", "trans_b"}};

bool GpuBackend::multiply_bytes_matrix(const GemmRequest& r, double plain_cost, const Binding& a,
                                       const Binding& b, const Binding& c) {
  const DeviceLimits& limits = device_->limits();
  if (limits.matrix_lanes == 0 || r.k == 0) return false;
  const Size k = count(r.k, vector) * vector;
  const std::array<Side, 2> sides = sides_of(r);
  const std::uint64_t bytes_of_a = sides[0].bytes(k);
  const std::uint64_t packed_bytes = bytes_of_a + sides[1].bytes(k);
  if (packed_bytes > std::min(limits.max_binding_bytes, limits.max_buffer_bytes)) return false;

  // Pieces of k are added where they meet, so that C is whole.
  const bool contiguous =
      r.ldc == r.n && (r.batch_count == 1 || r.stride_c == r.m * r.n || r.beta != 0);
  const GemmWork work{r.m, r.n, k, r.batch_count, false, true, limits.planned_units};
  const auto pieces_of = [&](const MatrixTile& tile) {
    return contiguous ? gemm_tile_pieces(work, tile.costs(), r.m) : 1;
  };
  const auto admits = [&](std::size_t candidate) {
    return candidate == 0 || can_run(limits, byte_tiles[candidate - 1], false, true, r.dtype);
  };
  std::size_t rule = 0;
  double least = plain_cost - packing_cost(packed_bytes, limits.planned_units);
  for (std::size_t i = 0; i < std::size(byte_tiles); ++i) {
    if (!admits(i + 1)) continue;
    const double cost = gemm_cost(work, byte_tiles[i].costs(), r.m, pieces_of(byte_tiles[i]));
    if (cost >= least) continue;
    least = cost;
    rule = i + 1;
  }
  const std::size_t picked =
      choices_->pick(gemm_bytes_matrix_choice, {r.m, r.n, r.k, r.batch_count},
                     {r.trans_a, r.trans_b}, rule, admits);
  if (picked == 0) return false;
  const MatrixTile& tile = byte_tiles[picked - 1];

  std::array<GemmOperand, 2> operands{GemmOperand{a, r.lda, r.stride_a, true, false},
                                      GemmOperand{b, r.ldb, r.stride_b, true, false}};
  AllocationRef scratch;
  if (packed_bytes > 0) {
    if (packed_bytes > scratch_limit()) return false;
    scratch = memory_->try_scratch(r.op, packed_bytes);
    if (!scratch) return false;
    const Binding packed = bind(r.op, scratch, packed_bytes);
    struct Matrix {
      std::uint32_t lines, k, ld, stride, across, vectors, items, start, last;
    };
    std::array<Matrix, 2> params{};
    std::uint64_t items = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const Side& side = sides[i];
      if (!side.is_packed) continue;
      const std::uint64_t start = i == 0 ? 0 : bytes_of_a;
      const Size walks = side.is_across ? count(side.lines, 4) : side.lines;
      params[i] = {u32(side.lines),
                   u32(r.k),
                   u32(side.ld),
                   u32(side.stride),
                   side.is_across ? 1u : 0u,
                   u32(k / vector),
                   u32(walks * (k / vector) * side.matrices),
                   static_cast<std::uint32_t>(start / static_cast<std::uint64_t>(vector)),
                   static_cast<std::uint32_t>((operands[i].binding.bytes + 3) / 4 - 1)};
      items += params[i].items;
      operands[i] = {{packed.buffer, packed.offset + start, packed.bytes - start},
                     k,
                     side.stride == 0 ? 0 : side.lines * k,
                     true,
                     false};
    }
    const std::array<Binding, 3> bindings{a, b, packed};
    run(KernelId::gemm_bytes_pack, 0, params, bindings, cover(items, group_size),
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }

  const Size wanted = pieces_of(tile);
  const Size piece = count(count(k, wanted), tile.bk) * tile.bk, pieces = count(k, piece);
  if (pieces > 1 && r.beta == 0) fill_zeros(c, r.m * r.n * r.batch_count);
  GemmRequest along = r;
  along.trans_a = false;
  along.trans_b = true;
  along.k = k;
  GemmTarget target{c, DType::int32, r.ldc, r.stride_c, 1.0f, r.beta, pieces, piece};
  target.is_added = pieces > 1;
  multiply_matrix(along, {picked - 1, *matrix_shape(limits, tile, r.dtype), pieces, 0}, operands[0],
                  operands[1], target);
  return true;
}

}  // namespace tilewright::gpu
