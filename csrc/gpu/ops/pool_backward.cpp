#include <array>
#include <cstdint>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/ops/pool.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_pool_backward(const PoolBackwardRequest& r) {
  constexpr std::string_view op = "pool_backward";
  require_stored(op, lacking_feature(r.dtype), device_->info().name);
  const Size inputs = r.planes * r.windows.elements();
  const Size outputs = r.planes * r.windows.outputs();
  PoolForm form = pool_form(op, r.op, inputs, r.windows, r.divisor, r.dtype);
  const bool is_max = r.op == PoolOp::max;
  std::vector<Binding> bindings{bind(op, r.grad_output, bytes_of(outputs, r.dtype)),
                                bind(op, r.grad_input, bytes_of(inputs, r.dtype))};
  if (is_max) bindings.push_back(bind(op, r.places, bytes_of(outputs, DType::int32)));
  // A division by one that the compiler knows is a product.
  constexpr std::uint32_t known_stride = 7;
  std::array<std::uint32_t, pool_axes> strides{};
  std::uint32_t variant = form.variant(is_max, is_max, r.dtype);
  for (std::size_t a = 0; a < pool_axes; ++a) {
    const std::uint32_t stride = form.params.axes[a].stride;
    strides[a] = !form.adaptive && stride <= known_stride ? stride : 0;
    variant = variant << 3 | strides[a];
  }
  const bool depth = !is_single(r.windows.axes[0]);
  // Where rows have windows in common, these are read once for several of them.
  const PoolParams::Axis& y = form.params.axes[1];
  const bool shares = form.adaptive ? y.out < y.length : y.window > 1;
  const Size slabs = r.planes * r.windows.axes[0].length;
  constexpr Size lines_of_item = 4;
  const Size pack = floats_of_item(r.dtype), width = form.params.axes[2].length;
  const Size lines = width % pack == 0 && shares && y.length > 1 ? lines_of_item : 1;
  const Size items = lines == 1 ? (inputs + pack - 1) / pack
                                : slabs * ((Size{y.length} + lines - 1) / lines) * (width / pack);
  if (lines > 1) form.params.n = u32(items);
  run(KernelId::pool_backward, variant << 2 | (depth ? 2u : 0u) | (lines > 1 ? 1u : 0u),
      form.params, bindings, cover(static_cast<std::uint64_t>(items), group_size),
      [&](TemplateVariables& v) {
        form.fill(v, r.dtype);
        v["MAX"] = std::int64_t{is_max};
        v["LINES"] = lines;
        v["DEPTH"] = std::int64_t{depth};
        v["STRIDE0"] = std::int64_t{strides[0]};
        v["STRIDE1"] = std::int64_t{strides[1]};
        v["STRIDE2"] = std::int64_t{strides[2]};
      });
}

}  // namespace tilewright::gpu
