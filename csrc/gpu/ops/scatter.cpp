#include <array>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_scatter(const ScatterRequest& r) {
  require("scatter", r.dtype);
  // First who wins each row, then the rows: equal indices give the same bits every time.
  const std::uint64_t winners_bytes = bytes_of(r.output_rows, DType::int32);
  const AllocationRef winners = memory_->scratch("scatter", winners_bytes);
  const Binding winners_binding = bind("scatter", winners, winners_bytes);
  const auto common = [&](TemplateVariables& v) { set_common(v, r.dtype); };
  const struct {
    std::uint32_t n, value;
  } zeros{u32(r.output_rows), 0};
  run(KernelId::fill, 0, zeros, std::span(&winners_binding, 1),
      cover(static_cast<std::uint64_t>(r.output_rows), group_size),
      [](TemplateVariables& v) { set_common(v, DType::float32); });
  const struct {
    std::uint32_t count, rows;
  } candidates{u32(r.count), u32(r.output_rows)};
  const std::array<Binding, 2> find{bind("scatter", r.indices, bytes_of(r.count, DType::int32)),
                                    winners_binding};
  run(KernelId::scatter_winners, 0, candidates, find,
      cover(static_cast<std::uint64_t>(r.count), group_size), common);
  const std::array<Binding, 3> move{
      bind("scatter", r.source, bytes_of(r.count * r.row_size, r.dtype)), winners_binding,
      bind("scatter", r.output, bytes_of(r.output_rows * r.row_size, r.dtype))};
  if (r.dtype == DType::bfloat16) {
    const struct {
      std::uint32_t n, row_size, source_rows, other, first, rows;
    } params{u32(r.output_rows * r.row_size), u32(r.row_size), u32(r.count), 0, 0, u32(r.count)};
    run(KernelId::move_rows, 1, params, move,
        cover((static_cast<std::uint64_t>(params.n) + 1) / 2, group_size),
        [](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{group_size};
          v["SCATTER"] = std::int64_t{1};
          v["WINDOW"] = std::int64_t{0};
        });
    return;
  }
  const bool vector = r.row_size % 4 == 0;
  const Size row_items = vector ? r.row_size / 4 : r.row_size;
  const Size n = r.output_rows * row_items;
  const struct {
    std::uint32_t n, row_size;
  } params{u32(n), u32(row_items)};
  run(KernelId::scatter, half_bit(r.dtype) * 2 + (vector ? 1 : 0), params, move,
      cover(static_cast<std::uint64_t>(n), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["VECTOR"] = std::int64_t{vector};
      });
}

}  // namespace tilewright::gpu
