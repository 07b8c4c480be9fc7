#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

AllocationRef GpuBackend::pack(const GemmPackings& packings, const GemmRequest& r, GemmOperand& a,
                               GemmOperand& b) {
  struct Matrix {
    std::uint32_t rows, columns, ld, stride, packed_rows, vectors, items, start;
  };
  AllocationRef scratch = memory_->scratch(r.op, packings.bytes(r));
  const Binding packed = bind(r.op, scratch, packings.bytes(r));
  std::array<Matrix, 2> matrices{};
  const std::array<Binding, 3> bindings{a.binding, b.binding, packed};
  std::uint64_t offset = 0;
  const auto place = [&](const std::optional<GemmPacking>& packing, Matrix& matrix,
                         GemmOperand& operand) {
    if (!packing) return;
    const Size vectors = packing->packed_columns / 4;
    const Size stride = packing->packed_rows * packing->packed_columns;
    const std::uint64_t vector_bytes = bytes_of(4, r.dtype);
    matrix = {u32(packing->rows),
              u32(packing->columns),
              u32(operand.ld),
              u32(operand.stride),
              u32(packing->packed_rows),
              u32(vectors),
              u32(packing->packed_rows * vectors * r.batch_count),
              static_cast<std::uint32_t>(offset / vector_bytes)};
    operand = {{packed.buffer, offset, packed.bytes - offset},
               packing->packed_columns,
               stride,
               true,
               packing->whole_tiles};
    offset += packing->bytes(r);
  };
  place(packings.a, matrices[0], a);
  place(packings.b, matrices[1], b);
  run(KernelId::gemm_pack, half_bit(r.dtype), matrices, bindings,
      cover(std::uint64_t{matrices[0].items} + matrices[1].items, group_size),
      [&](TemplateVariables& v) { set_common(v, r.dtype); });
  return scratch;
}

}  // namespace tilewright::gpu
