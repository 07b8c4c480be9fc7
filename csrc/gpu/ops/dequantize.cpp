#include "core/ops/dequantize.hpp"

#include "gpu/backend.hpp"
#include "gpu/ops/quantized.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_dequantize(const DequantizeRequest& r) {
  constexpr std::string_view op = "dequantize";
  require(op, r.dtype);
  std::vector<Binding> bindings =
      bind_planes(r.packed, r.format, r.groups,
                  [&](const BufferRange& plane) { return bind(op, plane, plane.bytes); });
  bindings.push_back(bind(op, r.output, bytes_of(r.groups * quant_group, r.dtype)));
  const Size vectors = r.groups * (quant_group / 4);
  run(KernelId::dequantize, static_cast<std::uint32_t>(r.format) * 2 + half_bit(r.dtype),
      u32(vectors), bindings, cover(static_cast<std::uint64_t>(vectors), group_size),
      [&](TemplateVariables& v) { set_quantized(v, r.dtype, r.format); });
}

}  // namespace tilewright::gpu
