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
  const PoolForm form = pool_form(op, r.op, inputs, r.windows, r.divisor, r.dtype);
  const bool is_max = r.op == PoolOp::max;
  std::vector<Binding> bindings{bind(op, r.grad_output, bytes_of(outputs, r.dtype)),
                                bind(op, r.grad_input, bytes_of(inputs, r.dtype))};
  if (is_max) bindings.push_back(bind(op, r.places, bytes_of(outputs, DType::int32)));
  run(KernelId::pool_backward, form.variant(is_max, is_max, r.dtype), form.params, bindings,
      cover(static_cast<std::uint64_t>(inputs), group_size * floats_of_item(r.dtype)),
      [&](TemplateVariables& v) {
        form.fill(v, r.dtype);
        v["MAX"] = std::int64_t{is_max};
        v["DILATED"] = std::int64_t{form.dilated};
      });
}

}  // namespace tilewright::gpu
