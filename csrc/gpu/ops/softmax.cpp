#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

/// Columns side by side for whole reads of memory, work-items enough for the length.
constexpr std::size_t columns_side_by_side = 32;
constexpr std::size_t least_share = 4;
/// An axis in front of others that the registers of a work-item hold.
constexpr Size longest_short = 16;

/// Rows longer than registers hold are fewer at once in larger workgroups, so that caches hold them
/// for the second walk.
std::size_t group_of(const SoftmaxRequest& r, const DeviceLimits& limits) {
  constexpr std::uint32_t largest = 1024;
  const bool larger = r.inner == 1 && limits.compiles_templates && limits.max_group_size >= largest;
  return larger ? largest : group_size;
}

/// What tells apart the kernels of a plan that differ by their variables.
std::uint32_t variant_of(const SoftmaxRequest& r, bool by_four) {
  const bool in_place = r.input == r.output;
  return (r.log ? 8 : 0) + (by_four ? 4 : 0) + half_bit(r.dtype) * 2 + (in_place ? 1 : 0);
}

std::size_t columns_of_group(const SoftmaxRequest& r, std::size_t group) {
  const auto walkers = std::min<std::size_t>(
      std::bit_ceil((static_cast<std::size_t>(r.length) + least_share - 1) / least_share), group);
  if (r.inner == 1) return group / walkers;
  const auto side_by_side =
      std::min(std::bit_ceil(static_cast<std::size_t>(r.inner)), columns_side_by_side);
  return std::max(group_size / walkers, side_by_side);
}

}  // namespace

void GpuBackend::softmax_rows(const SoftmaxRequest& r, const RowPlan& plan) {
  const bool in_place = r.input == r.output;
  const bool vector = r.length % 4 == 0;
  const std::uint32_t variant = (plan.vectors * 2048 + plan.walkers) * 16 + variant_of(r, vector);
  const std::uint64_t bytes = bytes_of(r.outer * r.length, r.dtype);
  const std::array<Binding, 2> both{bind("softmax", r.input, bytes),
                                    bind("softmax", r.output, bytes)};
  const struct {
    std::uint32_t rows, length, zero;
  } params{u32(r.outer), u32(r.length), 0};
  run(KernelId::softmax_rows, variant, params, std::span(both).subspan(in_place ? 1 : 0),
      cover(static_cast<std::uint64_t>(r.outer), plan.group / plan.walkers),
      [&](TemplateVariables& v) {
        set_rows(v, r.dtype, plan);
        v["VECTOR"] = std::int64_t{vector};
        v["IN_PLACE"] = std::int64_t{in_place};
        v["LOG"] = std::int64_t{r.log};
      });
}

void GpuBackend::softmax_short(const SoftmaxRequest& r) {
  const bool in_place = r.input == r.output;
  const Size held = (r.length + 3) / 4 * 4, columns = r.outer * r.inner;
  const std::uint64_t bytes = bytes_of(columns * r.length, r.dtype);
  const std::array<Binding, 2> both{bind("softmax", r.input, bytes),
                                    bind("softmax", r.output, bytes)};
  const struct {
    std::uint32_t columns, length, inner, zero;
  } params{u32(columns), u32(r.length), u32(r.inner), 0};
  run(KernelId::softmax_short, static_cast<std::uint32_t>(held) * 16 + variant_of(r, false), params,
      std::span(both).subspan(in_place ? 1 : 0),
      cover(static_cast<std::uint64_t>(columns), group_size), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["HELD"] = std::int64_t{held};
        v["IN_PLACE"] = std::int64_t{in_place};
        v["LOG"] = std::int64_t{r.log};
      });
}

bool GpuBackend::softmax_pieces(const SoftmaxRequest& r, const PiecePlan& plan) {
  const std::uint64_t pieces_bytes =
      static_cast<std::uint64_t>(r.outer * plan.pieces) * 2 * sizeof(float);
  const AllocationRef scratch = memory_->try_scratch("softmax", pieces_bytes);
  if (!scratch) return false;
  const bool in_place = r.input == r.output;
  const bool vector = r.length % 4 == 0;
  const std::uint64_t bytes = bytes_of(r.outer * r.length, r.dtype);
  const Binding pieces = bind("softmax", scratch, pieces_bytes);
  const Binding input = bind("softmax", r.input, bytes), output = bind("softmax", r.output, bytes);
  const struct {
    std::uint32_t rows, length, pieces, piece, zero;
  } params{u32(r.outer), u32(r.length), u32(plan.pieces), u32(plan.piece), 0};
  const auto grid = cover(static_cast<std::uint64_t>(r.outer * plan.pieces), 1);
  const std::uint32_t variant = variant_of(r, vector);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["VECTOR"] = std::int64_t{vector};
    v["IN_PLACE"] = std::int64_t{in_place};
    v["LOG"] = std::int64_t{r.log};
  };
  // What is found of pieces is the same for all results, wherever they go.
  run(KernelId::softmax_pieces, variant & 6, params, std::array{input, pieces}, grid, fill);
  const std::array<Binding, 3> all{pieces, input, output};
  const std::array<Binding, 2> one{pieces, output};
  run(KernelId::softmax_scaled, variant, params,
      in_place ? std::span<const Binding>(one) : std::span<const Binding>(all), grid, fill);
  return true;
}

void GpuBackend::launch_softmax(const SoftmaxRequest& r) {
  require("softmax", r.dtype);
  const bool in_place = r.input == r.output;
  const bool rows = r.inner == 1;
  if (const RowPlan plan = plan_rows(r.length, false, device_->limits().compiles_templates);
      rows && plan.fits()) {
    return softmax_rows(r, plan);
  }
  const DeviceLimits& limits = device_->limits();
  if (rows && limits.compiles_templates) {
    const PiecePlan pieces = plan_pieces(r.outer, r.length, limits);
    if (pieces.pieces > 1 && softmax_pieces(r, pieces)) return;
    const RowPlan plan = plan_long_rows(r.length, limits.max_group_size);
    if (plan.fits()) return softmax_rows(r, plan);
  }
  if (!rows && limits.compiles_templates && r.length <= longest_short) return softmax_short(r);
  const std::size_t group = group_of(r, limits);
  const std::size_t columns = columns_of_group(r, group);
  const std::uint32_t variant =
      static_cast<std::uint32_t>(group * 2048 + columns) * 16 + variant_of(r, rows);
  const std::uint64_t bytes = bytes_of(r.outer * r.length * r.inner, r.dtype);
  const std::array<Binding, 2> both{bind("softmax", r.input, bytes),
                                    bind("softmax", r.output, bytes)};
  const auto bindings = std::span(both).subspan(in_place ? 1 : 0);
  const struct {
    std::uint32_t columns, length, inner, zero;
  } params{u32(r.outer * r.inner), u32(r.length), u32(r.inner), 0};
  run(KernelId::softmax, variant, params, bindings,
      cover(static_cast<std::uint64_t>(r.outer * r.inner), columns), [&](TemplateVariables& v) {
        set_common(v, r.dtype);
        v["GROUP"] = static_cast<std::int64_t>(group);
        v["COLUMNS"] = static_cast<std::int64_t>(columns);
        v["ROWS"] = std::int64_t{rows};
        v["IN_PLACE"] = std::int64_t{in_place};
        v["LOG"] = std::int64_t{r.log};
      });
}

}  // namespace tilewright::gpu
