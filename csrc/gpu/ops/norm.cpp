#include <vector>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// What rmsnorm and layer_norm share.
namespace tilewright::gpu {

void GpuBackend::norm(std::string_view op, const NormRequest& r, bool centred) {
  require(op, r.dtype);
  const bool in_place = r.x == r.out;
  const struct {
    std::uint32_t rows, cols;
    float eps;
  } params{u32(r.rows), u32(r.cols), r.eps};
  const std::uint64_t bytes = bytes_of(r.rows * r.cols, r.dtype);
  std::vector<Binding> bindings;
  if (!in_place) bindings.push_back(bind(op, r.x, bytes));
  bindings.push_back(bind(op, r.weight, bytes_of(r.cols, r.dtype)));
  if (centred) bindings.push_back(bind(op, r.bias, bytes_of(r.cols, r.dtype)));
  bindings.push_back(bind(op, r.out, bytes));
  if (const RowPlan plan = plan_rows(r.cols); plan.fits()) {
    const bool vector = r.cols % 4 == 0;
    const std::uint32_t variant = (plan.vectors * 2048 + plan.walkers) * 16 + (vector ? 8 : 0) +
                                  half_bit(r.dtype) * 4 + (centred ? 2 : 0) + (in_place ? 1 : 0);
    return run(KernelId::norm_rows, variant, params, bindings,
               cover(static_cast<std::uint64_t>(r.rows), plan.group / plan.walkers),
               [&](TemplateVariables& v) {
                 set_rows(v, r.dtype, plan);
                 v["VECTOR"] = std::int64_t{vector};
                 v["CENTRED"] = std::int64_t{centred};
                 v["IN_PLACE"] = std::int64_t{in_place};
               });
  }
  run(KernelId::norm, half_bit(r.dtype) * 4 + (centred ? 2 : 0) + (in_place ? 1 : 0), params,
      bindings, cover(static_cast<std::uint64_t>(r.rows), 1), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["CENTRED"] = std::int64_t{centred};
        v["IN_PLACE"] = std::int64_t{in_place};
      });
}

}  // namespace tilewright::gpu
