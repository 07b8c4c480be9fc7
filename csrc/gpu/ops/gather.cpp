#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "gpu/backend.hpp"
#include "gpu/ops/windows.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_gather(const GatherRequest& r) {
  require("gather", r.dtype);
  const std::uint64_t row = bytes_of(r.row_size, r.dtype);
  const Size rows = lines_of_window(device_->limits(), r.table_rows, {{row, row}});
  if (rows == r.table_rows || rows == 0) return gather_window(r, 0, r.table_rows);
  for (Size first = 0; first < r.table_rows; first += rows) {
    gather_window(r, first, std::min(rows, r.table_rows - first));
  }
}

void GpuBackend::gather_window(const GatherRequest& r, Size first, Size rows) {
  const std::array<Binding, 3> bindings{
      bind("gather", behind(r.table, bytes_of(first * r.row_size, r.dtype)),
           bytes_of(rows * r.row_size, r.dtype)),
      bind("gather", r.indices, bytes_of(r.count, DType::int32)),
      bind("gather", r.output, bytes_of(r.count * r.row_size, r.dtype))};
  const bool is_part = rows != r.table_rows;
  if (r.dtype == DType::bfloat16) {
    constexpr std::uint32_t not_a_number = 0x7fc0;
    const struct {
      std::uint32_t n, row_size, source_rows, other, first, rows;
    } params{u32(r.count * r.row_size),
             u32(r.row_size),
             u32(r.table_rows),
             not_a_number,
             u32(first),
             u32(rows)};
    run(KernelId::move_rows, is_part ? 2 : 0, params, bindings,
        cover((static_cast<std::uint64_t>(params.n) + 1) / 2, group_size),
        [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["SCATTER"] = std::int64_t{0};
          v["WINDOW"] = std::int64_t{is_part};
        });
    return;
  }
  const bool vector = r.row_size % 4 == 0;
  const Size row_items = vector ? r.row_size / 4 : r.row_size;
  const Size n = r.count * row_items;
  const struct {
    std::uint32_t n, row_size, table_rows, not_a_number, first, rows;
  } params{u32(n),
           u32(row_items),
           u32(r.table_rows),
           std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()),
           u32(first),
           u32(rows)};
  run(KernelId::gather, (is_part ? 4u : 0u) + half_bit(r.dtype) * 2 + (vector ? 1 : 0), params,
      bindings, cover(static_cast<std::uint64_t>(n), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["VECTOR"] = std::int64_t{vector};
        v["WINDOW"] = std::int64_t{is_part};
      });
}

}  // namespace tilewright::gpu
