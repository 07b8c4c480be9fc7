#include "core/ops/grid_sample_backward_grid.hpp"

#include <array>
#include <string>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_grid_sample_backward_grid(const GridGradientRequest& r) {
  constexpr std::string_view op = "grid_sample_backward_grid";
  require_stored(op, lacking_feature(r.dtype), device_->info().name);
  const SampleSizes& s = r.sizes;
  const Binding result = bind(op, r.grad_grid, bytes_of(s.coordinates, r.dtype));
  // Of nearest the sums are over no channels: 0.
  const bool nearest = r.mode == SampleMode::nearest;
  const SampleMode mode = nearest ? SampleMode::bilinear : r.mode;
  const std::array<Binding, 4> bindings{bind(op, r.grad_output, bytes_of(s.outputs, r.dtype)),
                                        bind(op, r.input, bytes_of(s.inputs, r.dtype)),
                                        bind(op, r.grid, bytes_of(s.coordinates, r.dtype)), result};
  const Size points = s.batch * s.points;
  const Size of_item = s.axes == 3 ? floats_of_item(r.dtype) : 1;
  const struct {
    std::uint32_t n, points, cells, channels, length0, length1, length2;
  } params{u32(points),     u32(s.points),   u32(s.cells),   nearest ? 0 : u32(s.channels),
           u32(s.shape[0]), u32(s.shape[1]), u32(s.shape[2])};
  std::uint32_t variant = static_cast<std::uint32_t>(r.dtype);
  variant = variant * 4 + static_cast<std::uint32_t>(mode);
  variant = variant * 4 + static_cast<std::uint32_t>(r.padding);
  for (const bool bit : {r.align_corners, s.axes == 3}) variant = variant * 2 + (bit ? 1 : 0);
  run(KernelId::grid_sample_backward_grid, variant, params, bindings,
      cover(static_cast<std::uint64_t>((points + of_item - 1) / of_item), group_size),
      [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["T"] = stored_name(r.dtype);
        v["AXES"] = static_cast<std::int64_t>(s.axes);
        v["MODE"] = std::string(to_string(mode));
        v["PADDING"] = std::string(to_string(r.padding));
        v["ALIGNED"] = std::int64_t{r.align_corners};
      });
}

}  // namespace tilewright::gpu
