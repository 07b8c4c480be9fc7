#include "core/ops/resample.hpp"

#include <array>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_resample(const ResampleRequest& r) {
  constexpr std::string_view op = "resample";
  require_stored(op, lacking_feature(r.dtype), device_->info().name);
  const Size outputs = r.planes * r.rows.out * r.columns.out;
  const Binding input =
      bind(op, r.input, bytes_of(r.planes * r.rows.length * r.columns.length, r.dtype));
  // What an axis without taps lacks is not read.
  const auto bound = [&](const BufferRange& table) {
    return table ? bind(op, table, table.bytes) : input;
  };
  const std::array<Binding, 6> bindings{input,
                                        bind(op, r.output, bytes_of(outputs, r.dtype)),
                                        bound(r.rows.spans),
                                        bound(r.rows.weights),
                                        bound(r.columns.spans),
                                        bound(r.columns.weights)};
  const bool rows = r.rows.taps != 0, columns = r.columns.taps != 0;
  Size planes = r.planes, height = r.rows.length, lines = r.rows.out;
  if (!rows) {
    height = lines = planes * lines;
    planes = 1;
  }
  constexpr Size lines_of_item = 4;
  const Size pack = floats_of_item(r.dtype);
  const Size of_item = r.columns.out % pack == 0 ? lines_of_item : 0;
  const Size items = of_item == 0
                         ? (outputs + pack - 1) / pack
                         : planes * ((lines + of_item - 1) / of_item) * (r.columns.out / pack);
  const struct {
    std::uint32_t n, height, rows, row_taps, width, columns, column_taps;
  } params{u32(of_item == 0 ? outputs : items),
           u32(height),
           u32(lines),
           u32(r.rows.taps),
           u32(r.columns.length),
           u32(r.columns.out),
           u32(r.columns.taps)};
  run(KernelId::resample,
      static_cast<std::uint32_t>(r.dtype) << 3 | (of_item == 0 ? 4u : 0u) | (rows ? 2u : 0u) |
          (columns ? 1u : 0u),
      params, bindings, cover(static_cast<std::uint64_t>(items), group_size),
      [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["T"] = stored_name(r.dtype);
        v["ROWS"] = std::int64_t{rows};
        v["COLUMNS"] = std::int64_t{columns};
        v["LINES"] = of_item;
      });
}

}  // namespace tilewright::gpu
