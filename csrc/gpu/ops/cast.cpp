#include <array>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

void GpuBackend::do_cast(const CastRequest& r) {
  const std::uint64_t bytes = bytes_of(r.n, r.from);
  if (r.from == r.to) return do_copy_dtod(*r.output, *r.input, bytes, 0, 0);
  // Windows by float32, the larger of both; the float16 side advances half as fast.
  for_windows(r.n, DType::float32, [&](std::uint64_t offset, Size n) {
    const struct {
      std::uint32_t n;
    } params{u32(n)};
    const auto at = [&](DType dtype) { return offset / 4 * size_of(dtype); };
    const std::array<Binding, 2> bindings{window(r.input, at(r.from)), window(r.output, at(r.to))};
    run(KernelId::cast, half_bit(r.to), params, bindings,
        cover(static_cast<std::uint64_t>(n), 4 * elementwise_group_), [&](TemplateVariables& v) {
          v["GROUP"] = std::int64_t{elementwise_group_};
          v["FROM"] = type_name(r.from);
          v["TO"] = type_name(r.to);
        });
  });
}

}  // namespace tilewright::gpu
