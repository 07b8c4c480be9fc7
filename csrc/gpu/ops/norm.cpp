#include <array>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// What rmsnorm and layer_norm share.
namespace tilewright::gpu {

bool GpuBackend::norm_pieces(std::string_view op, const NormRequest& r, bool centred,
                             const PiecePlan& plan) {
  const std::uint64_t pieces_bytes =
      static_cast<std::uint64_t>(r.rows * plan.pieces) * 2 * sizeof(float);
  const AllocationRef scratch = memory_->try_scratch(op, pieces_bytes);
  if (!scratch) return false;
  const bool in_place = r.x == r.out, weight{r.weight}, bias = centred && r.bias;
  const bool vector = r.cols % 4 == 0;
  const struct {
    std::uint32_t rows, length, pieces, piece;
    float eps;
  } params{u32(r.rows), u32(r.cols), u32(plan.pieces), u32(plan.piece), r.eps};
  const std::uint64_t bytes = bytes_of(r.rows * r.cols, r.dtype), line = bytes_of(r.cols, r.dtype);
  const Binding pieces = bind(op, scratch, pieces_bytes);
  const Binding x = bind(op, r.x, bytes);
  std::vector<Binding> bindings{pieces};
  if (!in_place) bindings.push_back(x);
  if (weight) bindings.push_back(bind(op, r.weight, line));
  if (bias) bindings.push_back(bind(op, r.bias, line));
  bindings.push_back(bind(op, r.out, bytes));
  const auto grid = cover(static_cast<std::uint64_t>(r.rows * plan.pieces), 1);
  std::uint32_t variant = 0;
  for (const bool bit : {vector, r.dtype == DType::float16, centred}) {
    variant = variant * 2 + (bit ? 1 : 0);
  }
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["VECTOR"] = std::int64_t{vector};
    v["CENTRED"] = std::int64_t{centred};
    v["IN_PLACE"] = std::int64_t{in_place};
    v["WEIGHT"] = std::int64_t{weight};
    v["BIAS"] = std::int64_t{bias};
  };
  run(KernelId::norm_pieces, variant, params, std::array{x, pieces}, grid, fill);
  for (const bool bit : {in_place, weight, bias}) variant = variant * 2 + (bit ? 1 : 0);
  run(KernelId::norm_scaled, variant, params, bindings, grid, fill);
  return true;
}

void GpuBackend::norm(std::string_view op, const NormRequest& r, bool centred) {
  require(op, r.dtype);
  const DeviceLimits& limits = device_->limits();
  const bool has_gaps = r.rows > 1 && r.ldx != r.cols;
  if (limits.compiles_templates && !r.residual && !has_gaps && !plan_rows(r.cols).fits()) {
    const PiecePlan pieces = plan_pieces(r.rows, r.cols, limits);
    if (pieces.pieces > 1 && norm_pieces(op, r, centred, pieces)) return;
  }
  // Elsewhere a buffer may be bound twice.
  const bool in_place = r.x == r.out && (!r.residual || device_->limits().one_use_of_buffer);
  const bool weight{r.weight}, bias{r.bias}, sum{r.sum};
  // 2: the sum takes the residual's place.
  const std::uint32_t residual = !r.residual ? 0 : r.residual == r.sum ? 2 : 1;
  const struct {
    std::uint32_t rows, cols;
    float eps;
  } params{u32(r.rows), u32(r.cols), r.eps};
  const Size ldx = r.rows > 1 ? r.ldx : r.cols;
  const std::uint64_t bytes = bytes_of(r.rows * r.cols, r.dtype);
  const std::uint64_t line = bytes_of(r.cols, r.dtype);
  // What is bound in place of what is not there is neither read nor written.
  std::vector<AllocationRef> unused;
  const auto bound = [&](const BufferRange& given, std::uint64_t size) {
    if (given) return bind(op, given, size);
    constexpr std::uint64_t least = 16;
    return bind(op, unused.emplace_back(memory_->scratch(op, least)), least);
  };
  std::vector<Binding> bindings;
  if (!in_place) {
    bindings.push_back(bind(op, r.x, bytes_of((r.rows - 1) * ldx + r.cols, r.dtype)));
  }
  bindings.push_back(bound(r.weight, line));
  if (centred) bindings.push_back(bound(r.bias, line));
  if (residual == 1) bindings.push_back(bind(op, r.residual, bytes));
  if (residual != 0) bindings.push_back(bound(r.sum, bytes));
  bindings.push_back(bind(op, r.out, bytes));
  // Those that are compiled ahead have workgroups of one size for subgroups.
  RowPlan plan = plan_rows(r.cols, limits.compiles_templates && r.rows <= limits.planned_units,
                           limits.compiles_templates);
  if (!plan.fits() && limits.compiles_templates) {
    plan = plan_long_rows(r.cols, limits.max_group_size);
  }
  const bool by_rows = plan.fits() && !has_gaps;
  const bool vector = r.cols % 4 == 0 && by_rows;
  std::uint32_t variant = by_rows ? plan.vectors * 2048 + plan.walkers : 0;
  for (const bool bit : {vector, r.dtype == DType::float16, centred, in_place, weight, bias, sum}) {
    variant = variant * 2 + (bit ? 1 : 0);
  }
  variant = variant * 3 + residual;
  const auto fill = [&](TemplateVariables& v) {
    by_rows ? set_rows(v, r.dtype, plan) : set_common(v, r.dtype);
    if (by_rows) v["VECTOR"] = std::int64_t{vector};
    v["CENTRED"] = std::int64_t{centred};
    v["IN_PLACE"] = std::int64_t{in_place};
    v["WEIGHT"] = std::int64_t{weight};
    v["BIAS"] = std::int64_t{bias};
    v["SUM"] = std::int64_t{sum};
    v["RESIDUAL"] = std::int64_t{residual};
  };
  const auto rows = static_cast<std::uint64_t>(r.rows);
  if (by_rows) {
    return run(KernelId::norm_rows, variant, params, bindings,
               cover(rows, plan.group / plan.walkers), fill);
  }
  const struct {
    std::uint32_t rows, cols;
    float eps;
    std::uint32_t ldx;
  } with_gaps{params.rows, params.cols, r.eps, u32(ldx)};
  run(KernelId::norm, variant, with_gaps, bindings, cover(rows, 1), fill);
}

AllocationRef GpuBackend::normed_rows(std::string_view op, const RowNorm& norm,
                                      const BufferRange& x, Size rows, Size cols, Size ldx,
                                      DType dtype) {
  const AllocationRef made = memory_->scratch(op, bytes_of(rows * cols, dtype));
  NormRequest r{};
  r.x = x;
  r.weight = norm.weight;
  r.out = made;
  r.rows = rows;
  r.cols = cols;
  r.ldx = ldx;
  r.eps = norm.eps;
  r.dtype = dtype;
  this->norm(op, r, false);
  return made;
}

}  // namespace tilewright::gpu
