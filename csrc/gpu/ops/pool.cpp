#include "gpu/ops/pool.hpp"

#include <algorithm>
#include <array>
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
/// Of windows that pool_small.wgsl walks without a loop, and of the elements that it reads at once.
constexpr Size small_window = 7, most_read = 64;
/// Outputs of a work-item there, one below the other.
constexpr Size rows_of_item = 4;

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

/// Whether pool_small.wgsl takes them: whether each window has an element, and registers hold what
/// is read at once, of which compiled kernels have fewer.
bool are_small(const PoolForm& form, const PoolWindows& windows, DType dtype, bool is_compiled) {
  const std::array<PoolAxis, pool_axes>& axes = windows.axes;
  if (form.adaptive || form.dilated || axes[2].out % floats_of_item(dtype) != 0) return false;
  for (std::size_t a = 0; a < pool_axes; ++a) {
    const PoolAxis& axis = axes[a];
    if (a > 0 && axis.window > small_window) return false;
    if (axis.pad >= axis.window || (axis.out - 1) * axis.stride - axis.pad >= axis.length) {
      return false;
    }
  }
  const Size most_compiled = floats_of_item(dtype) == 2 ? 12 : 36;
  if (is_compiled && axes[1].window * axes[2].window > most_compiled) return false;
  return axes[1].out == 1 || axes[1].stride <= small_window;
}

/// How many work-items share a window, and how many of them a row of it: more than one where there
/// would be few of them.
Size lanes_of(const PoolWindows& windows, Size outputs, Size units, std::uint32_t& across) {
  constexpr Size shared = 64, least_each = 4, enough_items = 1024;
  Size elements = 1, width = 1;
  for (const PoolAxis& axis : windows.axes) {
    const Size window = windows.adaptive ? (axis.length + axis.out - 1) / axis.out : axis.window;
    width = std::min(window, axis.length);
    elements *= width;
  }
  across = 1;
  if (elements < shared) return 1;
  Size lanes = 1;
  while (lanes < group_size && outputs * lanes < units * enough_items &&
         lanes * 2 * least_each <= elements) {
    lanes *= 2;
  }
  // A quarter that is idle costs less than another turn.
  const auto below = static_cast<Size>(std::bit_floor(static_cast<std::uint64_t>(width)));
  const bool rounds_up = width > below && 2 * width >= 3 * below;
  across = u32(std::min(lanes, rounds_up ? 2 * below : below));
  return lanes;
}

bool reaches_over(const PoolAxis& axis) {
  return axis.pad > 0 || (axis.out - 1) * axis.stride + axis.window > axis.length;
}

/// What pool_small.wgsl is told.
struct SmallPool : PoolForm {
  bool edges = false, depth;
  Size rows;

  SmallPool(const PoolForm& form, const PoolRequest& r, bool has_places, bool is_compiled)
      : PoolForm(form), depth(!is_single(r.windows.axes[0])) {
    for (const PoolAxis& axis : r.windows.axes) edges = edges || reaches_over(axis);
    PoolParams::Axis& y = params.axes[1];
    const PoolParams::Axis& x = params.axes[2];
    Size slabs = r.planes * r.windows.axes[0].out;
    // Planes of one row are one below the other; a place is counted from the start of its own.
    if (!depth && is_single(r.windows.axes[1]) && !has_places) {
      y.length = y.out = u32(r.planes);
      y.stride = 1;
      slabs = 1;
    }
    if (y.out == 1) y.stride = 1;
    rows = is_compiled ? 1 : rows_of_item;
    const Size read = std::min((rows - 1) * Size{y.stride} + y.window, rows * Size{y.window});
    if (y.out == 1 || read * x.window > most_read) rows = 1;
    const Size blocks = (Size{y.out} + rows - 1) / rows;
    params.n = u32(slabs * blocks * (Size{x.out} / floats_of_item(r.dtype)));
  }

  std::uint32_t variant(bool is_max, bool has_places, DType dtype) const {
    std::uint32_t all = static_cast<std::uint32_t>(dtype);
    for (const bool one : {is_max, has_places, padded, counted, edges, depth}) {
      all = all << 1 | (one ? 1u : 0u);
    }
    return all << 12 | u32(rows) << 9 | params.axes[1].window << 6 | params.axes[2].window << 3 |
           params.axes[1].stride;
  }
  void fill(TemplateVariables& v, DType dtype) const {
    PoolForm::fill(v, dtype);
    v["ROWS"] = rows;
    v["EDGES"] = std::int64_t{edges};
    v["DEPTH"] = std::int64_t{depth};
    v["WINDOW1"] = std::int64_t{params.axes[1].window};
    v["WINDOW2"] = std::int64_t{params.axes[2].window};
    v["STRIDE1"] = std::int64_t{params.axes[1].stride};
  }
};

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
  v["DILATED"] = std::int64_t{dilated};
}

void GpuBackend::launch_pool(const PoolRequest& r) {
  require_stored("pool", lacking_feature(r.dtype), device_->info().name);
  const Size outputs = r.planes * r.windows.outputs();
  PoolForm form = pool_form("pool", r.op, outputs, r.windows, r.divisor, r.dtype);
  const bool is_max = r.op == PoolOp::max, has_places = static_cast<bool>(r.places);
  std::vector<Binding> bindings{
      bind("pool", r.input, bytes_of(r.planes * r.windows.elements(), r.dtype)),
      bind("pool", r.output, bytes_of(outputs, r.dtype))};
  if (has_places) bindings.push_back(bind("pool", r.places, bytes_of(outputs, DType::int32)));
  const bool is_compiled = !device_->limits().compiles_templates;
  if (are_small(form, r.windows, r.dtype, is_compiled)) {
    const SmallPool small(form, r, has_places, is_compiled);
    run(KernelId::pool_small, small.variant(is_max, has_places, r.dtype), small.params, bindings,
        cover(static_cast<std::uint64_t>(small.params.n), group_size), [&](TemplateVariables& v) {
          small.fill(v, r.dtype);
          v["MAX"] = std::int64_t{is_max};
          v["PLACES"] = std::int64_t{has_places};
        });
    return;
  }
  const Size lanes =
      lanes_of(r.windows, outputs, device_->limits().planned_units, form.params.across);
  run(KernelId::pool, form.variant(is_max, has_places, r.dtype) << 9 | u32(lanes), form.params,
      bindings,
      cover(static_cast<std::uint64_t>(outputs), group_size / lanes * floats_of_item(r.dtype)),
      [&](TemplateVariables& v) {
        form.fill(v, r.dtype);
        v["MAX"] = std::int64_t{is_max};
        v["PLACES"] = std::int64_t{has_places};
        v["LANES"] = lanes;
      });
}

}  // namespace tilewright::gpu
