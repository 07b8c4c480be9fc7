#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

constexpr Size rows_of_block = 8, bytes_of_block = 32;

Size to_multiple(Size size, Size step) { return (size + step - 1) / step * step; }

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

AllocationRef GpuBackend::pack_blocks(const GemmRequest& r, const MatrixBlocks& blocks,
                                      GemmOperand& a, GemmOperand& b) {
  AllocationRef scratch = memory_->scratch(r.op, blocks.bytes());
  const Binding packed = bind(r.op, scratch, blocks.bytes());
  const bool bytes = blocks.element_bytes == 1;
  const Size blocks_k = blocks.k * blocks.element_bytes / bytes_of_block;
  std::uint64_t offset = 0;
  const auto place = [&](GemmOperand& operand, bool columns, bool deep, Size lines,
                         Size packed_lines, Size batches) {
    const Size block_lines = columns ? Size{device_->limits().block_lanes} : rows_of_block;
    const Size words = packed_lines * blocks_k * (bytes_of_block / 4);
    const struct {
      std::uint32_t lines, k, ld, stride, block_lines, blocks_k, blocks, items;
    } params{u32(lines),
             u32(r.k),
             u32(operand.ld),
             u32(operand.stride),
             u32(block_lines),
             u32(blocks_k),
             u32(packed_lines / block_lines),
             u32(words * batches / 4)};
    const std::uint64_t size = static_cast<std::uint64_t>(words * batches) * 4;
    const std::array<Binding, 2> bindings{operand.binding,
                                          Binding{packed.buffer, packed.offset + offset, size}};
    const std::uint32_t variant = (bytes ? 4u : 0u) + (columns ? 2u : 0u) + (deep ? 1u : 0u);
    run(KernelId::matrix_pack, variant, params, bindings,
        cover(static_cast<std::uint64_t>(params.items), group_size), [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["T"] = std::string(bytes ? "u8" : "f16");
          v["COLUMNS"] = std::int64_t{columns};
          v["DEEP"] = std::int64_t{deep};
        });
    operand = {bindings[1], block_lines * blocks_k * (bytes_of_block / 4), batches == 1 ? 0 : words,
               true, true};
    offset += size;
  };
  place(a, false, !r.trans_a, r.m, blocks.rows, blocks.batches_a);
  place(b, true, r.trans_b, r.n, blocks.columns, blocks.batches_b);
  return scratch;
}

bool GpuBackend::multiply_byte_blocks(const GemmRequest& r, const Binding& a, const Binding& b,
                                      const Binding& c) {
  // Below that the laying out takes longer than the products.
  constexpr Size least_lines = 32, least_k = 64;
  const DeviceLimits& limits = device_->limits();
  if (limits.block_lanes == 0 || std::min(r.m, r.n) < least_lines || r.k < least_k) return false;
  const auto tiles_of = [&](const MatrixTile& tile) {
    return (r.m + tile.bm - 1) / tile.bm * ((r.n + tile.bn - 1) / tile.bn) * r.batch_count;
  };
  // The largest that fills the GPU.
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < std::size(matrix_tiles); ++i) {
    const MatrixTile& tile = matrix_tiles[i];
    const bool is_larger = tile.wm * tile.wn > matrix_tiles[chosen].wm * matrix_tiles[chosen].wn;
    if (is_larger && can_run(limits, tile, false, false) &&
        tiles_of(tile) >= tile.resident * limits.planned_units) {
      chosen = i;
    }
  }
  const MatrixBlocks blocks = blocks_of(r, matrix_tiles[chosen]);
  if (blocks.bytes() > std::min<std::uint64_t>(scratch_limit(), limits.max_binding_bytes)) {
    return false;
  }
  GemmOperand left{a, r.lda, r.stride_a, false, false}, right{b, r.ldb, r.stride_b, false, false};
  AllocationRef packed;
  try {
    packed = pack_blocks(r, blocks, left, right);
  } catch (const OutOfMemory&) {
    return false;
  }
  GemmRequest request = r;
  request.k = blocks.k;
  const MatrixForm form{chosen, {r.dtype, DType::int32, 8, limits.block_lanes, 32}, 1, 0};
  multiply_matrix(request, form, left, right,
                  {c, DType::int32, r.ldc, r.stride_c, 1.0f, r.beta, 1, blocks.k});
  return true;
}

}  // namespace tilewright::gpu
