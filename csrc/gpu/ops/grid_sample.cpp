#include "core/ops/grid_sample.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"

namespace tilewright::gpu {

void GpuBackend::launch_grid_sample(const GridSampleRequest& r) {
  constexpr std::string_view op = "grid_sample";
  require_stored(op, lacking_feature(r.dtype), device_->info().name);
  const SampleSizes& s = r.sizes;
  const std::array<Binding, 3> bindings{bind(op, r.input, bytes_of(s.inputs, r.dtype)),
                                        bind(op, r.grid, bytes_of(s.coordinates, r.dtype)),
                                        bind(op, r.output, bytes_of(s.outputs, r.dtype))};
  const Size per_word = floats_of_item(r.dtype);
  const bool odd = s.points % per_word != 0;
  const Size words = s.points / per_word;
  // Work-items find a point once for some channels, where there are enough of them.
  constexpr Size enough_items = 1 << 16;
  constexpr Size most_share = 16;
  const Size share =
      odd ? 1 : std::clamp<Size>(s.batch * words * s.channels / enough_items, 1, most_share);
  const Size shares = (s.channels + share - 1) / share;
  const Size items = odd ? (s.outputs + 1) / 2 : s.batch * words * shares;
  const struct {
    std::uint32_t n, points, cells, channels, words, share, shares, length0, length1, length2;
  } params{u32(odd ? s.outputs : items),
           u32(s.points),
           u32(s.cells),
           u32(s.channels),
           u32(words),
           u32(share),
           u32(shares),
           u32(s.shape[0]),
           u32(s.shape[1]),
           u32(s.shape[2])};
  std::uint32_t variant = static_cast<std::uint32_t>(r.dtype);
  variant = variant * 4 + static_cast<std::uint32_t>(r.mode);
  variant = variant * 4 + static_cast<std::uint32_t>(r.padding);
  for (const bool bit : {r.align_corners, s.axes == 3, odd}) variant = variant * 2 + (bit ? 1 : 0);
  run(KernelId::grid_sample, variant, params, bindings,
      cover(static_cast<std::uint64_t>(items), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["T"] = stored_name(r.dtype);
        v["AXES"] = static_cast<std::int64_t>(s.axes);
        v["ODD"] = std::int64_t{odd};
        v["MODE"] = std::string(to_string(r.mode));
        v["PADDING"] = std::string(to_string(r.padding));
        v["ALIGNED"] = std::int64_t{r.align_corners};
      });
}

}  // namespace tilewright::gpu
