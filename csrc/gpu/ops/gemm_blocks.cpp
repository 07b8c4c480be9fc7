#include <algorithm>
#include <array>
#include <limits>

#include "core/ops/quantized_matmul.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/ops/quantized.hpp"
#include "gpu/plan.hpp"

// Products on matrix units that take whole blocks (DPAS), from matrices that are laid out so
// before.
namespace tilewright::gpu {

namespace {

constexpr Size rows_of_block = 8, bytes_of_block = 32, words_of_line = bytes_of_block / 4;

Size to_multiple(Size size, Size step) { return (size + step - 1) / step * step; }

/// The tile that takes the least time, where k stays whole.
std::size_t cheapest_tile(const GemmWork& work, const DeviceLimits& limits) {
  std::size_t chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::size(matrix_tiles); ++i) {
    if (!can_run(limits, matrix_tiles[i], false, false)) continue;
    const double cost = gemm_cost(work, matrix_tiles[i].costs(), work.m, 1);
    if (cost < least) {
      least = cost;
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace

MatrixBlocks blocks_of(const GemmRequest& r, const MatrixTile& tile) {
  const auto element_bytes = static_cast<Size>(size_of(r.dtype));
  // A matrix that all products share is laid out once.
  return {to_multiple(r.m, tile.bm),
          to_multiple(r.n, tile.bn),
          to_multiple(r.k, bytes_of_block / element_bytes),
          r.stride_a == 0 ? 1 : r.batch_count,
          r.stride_b == 0 ? 1 : r.batch_count,
          element_bytes};
}

GemmOperand GpuBackend::blocks_in(const MatrixBlocks& blocks, const Binding& packed,
                                  bool columns) const {
  const auto bytes = [](Size words, Size batches) {
    return static_cast<std::uint64_t>(words * batches) * 4;
  };
  const std::uint64_t of_a = bytes(blocks.words_a(), blocks.batches_a);
  const Size lines = columns ? Size{device_->limits().block_lanes} : rows_of_block;
  const Size ld = lines * blocks.k * blocks.element_bytes / 4;
  if (columns) {
    const std::uint64_t size = bytes(blocks.words_b(), blocks.batches_b);
    const Size stride = blocks.batches_b == 1 ? 0 : blocks.words_b();
    return {{packed.buffer, packed.offset + of_a, size}, ld, stride, true, true};
  }
  const Size stride = blocks.batches_a == 1 ? 0 : blocks.words_a();
  return {{packed.buffer, packed.offset, of_a}, ld, stride, true, true};
}

GemmOperand GpuBackend::lay_in_blocks(const GemmRequest& r, const MatrixBlocks& blocks,
                                      const GemmOperand& from, const Binding& packed,
                                      bool columns) {
  const bool bytes = blocks.element_bytes == 1, deep = columns ? r.trans_b : !r.trans_a;
  const GemmOperand to = blocks_in(blocks, packed, columns);
  const Size lines = columns ? Size{device_->limits().block_lanes} : rows_of_block;
  const struct {
    std::uint32_t lines, k, ld, stride, block_lines, blocks_k, blocks, items;
  } params{u32(columns ? r.n : r.m),
           u32(r.k),
           u32(from.ld),
           u32(from.stride),
           u32(lines),
           u32(blocks.k * blocks.element_bytes / bytes_of_block),
           u32((columns ? blocks.columns : blocks.rows) / lines),
           static_cast<std::uint32_t>(to.binding.bytes / 16)};
  const std::array<Binding, 2> bindings{from.binding, to.binding};
  const std::uint32_t variant = (bytes ? 4u : 0u) + (columns ? 2u : 0u) + (deep ? 1u : 0u);
  run(KernelId::matrix_pack, variant, params, bindings, cover(params.items, group_size),
      [&](TemplateVariables& v) {
        v["GROUP"] = std::int64_t{group_size};
        v["T"] = std::string(bytes ? "u8" : "f16");
        v["COLUMNS"] = std::int64_t{columns};
        v["DEEP"] = std::int64_t{deep};
      });
  return to;
}

AllocationRef GpuBackend::pack_blocks(const GemmRequest& r, const MatrixBlocks& blocks,
                                      GemmOperand& a, GemmOperand& b) {
  AllocationRef scratch = memory_->scratch(r.op, blocks.bytes());
  const Binding packed = bind(r.op, scratch, blocks.bytes());
  a = lay_in_blocks(r, blocks, a, packed, false);
  b = lay_in_blocks(r, blocks, b, packed, true);
  return scratch;
}

AllocationRef GpuBackend::room_for_blocks(std::string_view op, const MatrixBlocks& blocks) {
  const std::uint64_t most = std::min(scratch_limit(), device_->limits().max_binding_bytes);
  return blocks.bytes() <= most ? memory_->try_scratch(op, blocks.bytes()) : AllocationRef();
}

bool GpuBackend::multiply_byte_blocks(const GemmRequest& r, const Binding& a, const Binding& b,
                                      const Binding& c) {
  // As reckoned: below that the laying out takes longer than the products.
  constexpr Size least_lines = 32, least_k = 64;
  const DeviceLimits& limits = device_->limits();
  if (limits.block_lanes == 0 || std::min(r.m, r.n) < least_lines || r.k < least_k) return false;
  const std::size_t tile =
      cheapest_tile({r.m, r.n, r.k, r.batch_count, true, true, limits.planned_units}, limits);
  const MatrixBlocks blocks = blocks_of(r, matrix_tiles[tile]);
  const AllocationRef scratch = room_for_blocks(r.op, blocks);
  if (!scratch) return false;
  const Binding packed = bind(r.op, scratch, blocks.bytes());
  const GemmOperand left =
      lay_in_blocks(r, blocks, {a, r.lda, r.stride_a, false, false}, packed, false);
  const GemmOperand right =
      lay_in_blocks(r, blocks, {b, r.ldb, r.stride_b, false, false}, packed, true);
  GemmRequest request = r;
  request.k = blocks.k;
  const MatrixForm form{tile, {r.dtype, DType::int32, 8, limits.block_lanes, 32}, 1, 0};
  multiply_matrix(request, form, left, right,
                  {c, DType::int32, r.ldc, r.stride_c, 1.0f, r.beta, 1, blocks.k});
  return true;
}

bool GpuBackend::multiply_quantized_blocks(const QuantizedMatmulRequest& q,
                                           std::span<const Binding> bindings, const GemmEnd* end) {
  constexpr std::string_view op = "quantized_matmul";
  // As reckoned: fewer rows of x are multiplied sooner than weights are laid out.
  constexpr Size least_rows = 48;
  const DeviceLimits& limits = device_->limits();
  if (limits.block_lanes == 0 || q.dtype != DType::float16 || q.m < least_rows) return false;
  GemmRequest r{};
  r.op = op;
  r.trans_b = true;
  r.m = q.m;
  r.n = q.n;
  r.k = q.k;
  r.alpha = 1;
  r.beta = q.adds ? 1 : 0;
  r.ldc = q.ldy;
  r.batch_count = 1;
  r.dtype = r.output_dtype = DType::float16;
  const GemmWork work{r.m, r.n, r.k, 1, true, true, limits.planned_units};
  const std::size_t tile = cheapest_tile(work, limits);
  const MatrixBlocks blocks = blocks_of(r, matrix_tiles[tile]);
  const AllocationRef scratch = room_for_blocks(op, blocks);
  if (!scratch) return false;
  const Binding packed = bind(op, scratch, blocks.bytes());
  const std::size_t planes = bindings.size() - 2;
  const GemmOperand left =
      lay_in_blocks(r, blocks, {bindings[planes], q.ldx, 0, false, false}, packed, false);
  const GemmOperand right = blocks_in(blocks, packed, true);
  const Size groups = r.k / quant_group;
  const struct {
    std::uint32_t n, groups, lines, items;
  } params{u32(r.n), u32(groups), limits.block_lanes, u32(blocks.columns * groups)};
  std::vector<Binding> of_weights(bindings.begin(), bindings.end() - 2);
  of_weights.push_back(right.binding);
  run(KernelId::quantized_pack, static_cast<std::uint32_t>(q.format), params, of_weights,
      cover(params.items, group_size),
      [&](TemplateVariables& v) { set_quantized(v, DType::float16, q.format); });
  GemmForm form;
  form.matrix = MatrixForm{tile,
                           {DType::float16, DType::float32, 8, limits.block_lanes, 16},
                           gemm_tile_pieces(work, matrix_tiles[tile].costs(), r.m),
                           0};
  multiply(r, form, form.matrix->pieces, left, right, bindings.back(), end);
  return true;
}

}  // namespace tilewright::gpu
