#include <algorithm>
#include <array>
#include <bit>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_weighted_sum(const WeightedSumRequest& r) {
  require("weighted_sum", r.dtype);
  const Size n = r.heads * r.dim;
  const struct {
    std::uint32_t n, count, dim, share, weights_start, weights_stride;
    std::uint32_t rows_start, matrix_stride, row_stride, output_start, output_stride;
  } params{u32(n),
           u32(r.count),
           u32(r.dim),
           u32(r.heads / r.kv_heads),
           u32(r.weight_rows.start),
           u32(r.weight_rows.head),
           u32(r.row_rows.start),
           u32(r.row_rows.head),
           u32(r.row_rows.seq),
           u32(r.output_rows.start),
           u32(r.output_rows.head)};
  const auto bind_rows = [&](const BufferRange& range, const HeadRows& rows, Size heads, Size seq,
                             Size length) {
    // Where there is nothing to sum, there may be no inputs.
    const Size elements = seq == 0 || length == 0 ? 0 : extent(rows, 1, heads, seq, length);
    return bind("weighted_sum", range, bytes_of(elements, r.dtype));
  };
  const std::array<Binding, 3> bindings{bind_rows(r.weights, r.weight_rows, r.heads, 1, r.count),
                                        bind_rows(r.rows, r.row_rows, r.kv_heads, r.count, r.dim),
                                        bind_rows(r.output, r.output_rows, r.heads, 1, r.dim)};
  const auto columns = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::bit_ceil(static_cast<std::size_t>(r.dim)), 32));
  run(KernelId::weighted_sum, columns * 2 + half_bit(r.dtype), params, bindings,
      cover(static_cast<std::uint64_t>(n), columns), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["COLUMNS"] = std::int64_t{columns};
      });
}

}  // namespace tilewright::gpu
