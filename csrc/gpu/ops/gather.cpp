#include <array>
#include <bit>
#include <limits>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_gather(const GatherRequest& r) {
  require("gather", r.dtype);
  const std::array<Binding, 3> bindings{
      bind("gather", r.table, bytes_of(r.table_rows * r.row_size, r.dtype)),
      bind("gather", r.indices, bytes_of(r.count, DType::int32)),
      bind("gather", r.output, bytes_of(r.count * r.row_size, r.dtype))};
  if (r.dtype == DType::bfloat16) {
    constexpr std::uint32_t not_a_number = 0x7fc0;
    const struct {
      std::uint32_t n, row_size, source_rows, other;
    } params{u32(r.count * r.row_size), u32(r.row_size), u32(r.table_rows), not_a_number};
    run(KernelId::move_rows, 0, params, bindings,
        cover((static_cast<std::uint64_t>(params.n) + 1) / 2, group_size),
        [](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["SCATTER"] = std::int64_t{0};
        });
    return;
  }
  const bool vector = r.row_size % 4 == 0;
  const Size row_items = vector ? r.row_size / 4 : r.row_size;
  const Size n = r.count * row_items;
  const struct {
    std::uint32_t n, row_size, table_rows, not_a_number;
  } params{u32(n), u32(row_items), u32(r.table_rows),
           std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN())};
  run(KernelId::gather, half_bit(r.dtype) * 2 + (vector ? 1 : 0), params, bindings,
      cover(static_cast<std::uint64_t>(n), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["VECTOR"] = std::int64_t{vector};
      });
}

}  // namespace tilewright::gpu
