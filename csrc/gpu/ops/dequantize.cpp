#include "core/ops/dequantize.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/quantized.hpp"
#include "gpu/ops/windows.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_dequantize(const DequantizeRequest& r) {
  constexpr std::string_view op = "dequantize";
  require(op, r.dtype);
  // As many groups at a time as bindings hold, whole ones of outer scales.
  const auto output_bytes = [&](Size groups) { return bytes_of(groups * quant_group, r.dtype); };
  const auto lines = [](Size bytes) {
    return Lines{static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(bytes)};
  };
  const std::array<Size, 4> planes = plane_bytes(r.format, quant_super);
  const Size supers = (r.groups + quant_super - 1) / quant_super;
  const std::uint64_t of_super = output_bytes(quant_super);
  const Size most = lines_of_window(device_->limits(), supers,
                                    {lines(planes[0]),
                                     lines(planes[1]),
                                     lines(planes[2]),
                                     lines(planes[3]),
                                     {of_super, of_super}});
  if (most == 0) no_window(op, output_bytes(r.groups), device_->limits());
  for (Size first = 0; first < r.groups; first += most * quant_super) {
    const Size count = std::min(r.groups - first, most * quant_super);
    const auto bind_part = [&](const BufferRange& part) { return bind(op, part, part.bytes); };
    std::vector<Binding> bindings =
        bind_planes(r.packed, r.format, r.groups, first, count, bind_part);
    bindings.push_back(bind_part(BufferRange(
        r.output.allocation, r.output.offset + output_bytes(first), output_bytes(count))));
    const Size vectors = count * (quant_group / 4);
    run(KernelId::dequantize, static_cast<std::uint32_t>(r.format) * 2 + half_bit(r.dtype),
        u32(vectors), bindings, cover(static_cast<std::uint64_t>(vectors), group_size),
        [&](TemplateVariables& v) { set_quantized(v, r.dtype, r.format); });
  }
}

}  // namespace tilewright::gpu
