#include <array>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::run_op(OpId id, std::string_view op, const CastRequest& r,
                        void (GpuBackend::*launch)(const CastRequest&)) {
  if (r.from != r.to) return run_op<CastRequest>(id, op, r, launch);
  do_copy_dtod(*r.output.allocation, *r.input.allocation, r.output.bytes, r.output.offset,
               r.input.offset);
}

void GpuBackend::launch_cast(const CastRequest& r) {
  const std::uint32_t variant = half_bit(r.to) + (r.from == DType::int32 ? 2 : 0);
  // Windows by four bytes, the larger of both; the float16 side advances half as fast.
  for_windows(r.n, DType::float32, [&](std::uint64_t offset, Size n) {
    const auto at = [&](DType dtype) { return offset / 4 * size_of(dtype); };
    const std::array<Binding, 2> bindings{window(r.input, at(r.from)),
                                          elements(r.output, at(r.to), n, r.to)};
    run_elements(KernelId::cast, variant, n, bindings, 4, [&](TemplateVariables& v) {
      v["GROUP"] = std::int64_t{elementwise_group_};
      v["FROM"] = type_name(r.from);
      v["TO"] = type_name(r.to);
    });
  });
}

}  // namespace tilewright::gpu
