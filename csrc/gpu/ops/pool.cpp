#include "gpu/ops/pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"
#include "gpu/stored_floats.hpp"

namespace tilewright::gpu {

namespace {

constexpr Size most = std::numeric_limits<std::int32_t>::max();

/// Whatever is further than all places of an axis is as far as any other.
PoolParams::Axis narrowed(std::string_view op, const PoolAxis& axis, bool adaptive) {
  const Size steps = axis.out - 1;
  const Size places = axis.length + 2 * axis.pad + (adaptive ? 0 : steps * axis.stride);
  if (places > most || (adaptive && (axis.out + 1) * (axis.length + 1) > most)) {
    throw Unsupported(text(op, ": stride and pad of an axis of ", axis.length, " elements and ",
                           axis.out, " outputs reach further than 32 bits count; split the work ",
                           "into smaller calls, or compute it on the cpu backend"));
  }
  const Size dilation = std::min(axis.dilation, places);
  const Size window = std::min(axis.window, places);
  return {u32(axis.length),
          u32(axis.out),
          u32(window),
          steps == 0 ? std::max(u32(std::min(axis.stride, places)), 1u) : u32(axis.stride),
          u32(axis.pad),
          u32(dilation),
          u32(std::min((axis.window - 1) * axis.dilation, places))};
}

}  // namespace

PoolForm pool_form(std::string_view op, PoolOp kind, Size n, const PoolWindows& windows,
                   double divisor, DType dtype) {
  PoolForm form{};
  form.params.n = u32(n);
  form.adaptive = windows.adaptive;
  form.padded = kind == PoolOp::mean_padded;
  if (divisor == 0) divisor = common_count(windows, kind);
  form.counted = kind != PoolOp::max && divisor == 0;
  if (kind == PoolOp::max) divisor = 1;
  for (std::size_t a = 0; a < pool_axes; ++a) {
    form.params.axes[a] = narrowed(op, windows.axes[a], windows.adaptive);
    form.dilated = form.dilated || (windows.axes[a].dilation > 1 && windows.axes[a].window > 1);
  }
  const std::uint64_t bits = dtype == DType::float64
                                 ? std::bit_cast<std::uint64_t>(divisor)
                                 : std::bit_cast<std::uint32_t>(static_cast<float>(divisor));
  form.params.divisor = static_cast<std::uint32_t>(bits);
  form.params.divisor_high = static_cast<std::uint32_t>(bits >> 32);
  return form;
}

std::uint32_t PoolForm::variant(bool is_max, bool has_places, DType dtype) const {
  std::uint32_t all = static_cast<std::uint32_t>(dtype);
  for (const bool one : {is_max, has_places, adaptive, padded, counted, dilated}) {
    all = all << 1 | (one ? 1u : 0u);
  }
  return all;
}

void PoolForm::fill(TemplateVariables& v, DType dtype) const {
  set_common(v, dtype);
  v["T"] = stored_name(dtype);
  v["ADAPTIVE"] = std::int64_t{adaptive};
  v["PADDED"] = std::int64_t{padded};
  v["COUNTED"] = std::int64_t{counted};
}

void GpuBackend::launch_pool(const PoolRequest& r) {
  require_stored("pool", lacking_feature(r.dtype), device_->info().name);
  const Size outputs = r.planes * r.windows.outputs();
  const PoolForm form = pool_form("pool", r.op, outputs, r.windows, r.divisor, r.dtype);
  const bool is_max = r.op == PoolOp::max, has_places = static_cast<bool>(r.places);
  std::vector<Binding> bindings{
      bind("pool", r.input, bytes_of(r.planes * r.windows.elements(), r.dtype)),
      bind("pool", r.output, bytes_of(outputs, r.dtype))};
  if (has_places) bindings.push_back(bind("pool", r.places, bytes_of(outputs, DType::int32)));
  run(KernelId::pool, form.variant(is_max, has_places, r.dtype), form.params, bindings,
      cover(static_cast<std::uint64_t>(outputs), group_size * floats_of_item(r.dtype)),
      [&](TemplateVariables& v) {
        form.fill(v, r.dtype);
        v["MAX"] = std::int64_t{is_max};
        v["PLACES"] = std::int64_t{has_places};
      });
}

}  // namespace tilewright::gpu
