#include <array>
#include <string>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_unary(const UnaryRequest& r) {
  require("unary", r.dtype);
  const bool in_place = r.input == r.output;
  const std::uint32_t variant =
      static_cast<std::uint32_t>(r.op) * 4 + half_bit(r.dtype) * 2 + (in_place ? 1 : 0);
  for_windows(r.n, r.dtype, [&](std::uint64_t offset, Size n) {
    const std::array<Binding, 2> both{window(r.input, offset),
                                      elements(r.output, offset, n, r.dtype)};
    run_elements(KernelId::unary, variant, n, std::span(both).subspan(in_place ? 1 : 0),
                 4 * vectors_of_item(r.dtype), [&](TemplateVariables& v) {
                   set_common(v, r.dtype);
                   v["GROUP"] = std::int64_t{elementwise_group_};
                   v["VECTORS"] = std::int64_t{vectors_of_item(r.dtype)};
                   v["OP"] = std::string(to_string(r.op));
                   v["IN_PLACE"] = std::int64_t{in_place};
                 });
  });
}

}  // namespace tilewright::gpu
