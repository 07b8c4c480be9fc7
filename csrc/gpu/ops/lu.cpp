#include "core/ops/lu.hpp"

#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {

/// How the rows of a panel lie in a workgroup's registers.
struct HeldRows {
  std::uint32_t group;  ///< work-items
  Size each;            ///< rows of one; 0 where registers do not hold as many

  HeldRows(Size height, const Matrices& m, const DeviceLimits& limits) : group(group_size) {
    const Size least = 4 / (m.dtype == DType::float64 ? 2 : 1) / (m.is_complex ? 2 : 1);
    constexpr std::uint32_t larger_group = 512;
    each = height <= group_size * least ? least : 0;
    if (each > 0 || !limits.compiles_templates || limits.max_group_size < larger_group) return;
    group = larger_group;
    for (const Size rows : {least, 2 * least}) {
      if (each == 0 && height <= group * rows) each = rows;
    }
  }
};

/// Rows from which on a panel is brought to where it lies by columns, and back, by launches of
/// their own: all workgroups are quicker at that than the panel's.
constexpr Size least_turned = 257;

/// Rows from which on a column of a panel is one launch of all workgroups, as it is of a panel that
/// registers do not hold: one workgroup takes longer than that launch, which is some microseconds.
constexpr Size least_shared = 1537;

}  // namespace

constinit const ChoicePoint lu_panel_choice{"lu_panel", panel_ways, {"complex", "float64"}};

// By panels of columns: a panel is factored, its exchanges of rows follow beside it, then the rows
// of U to its right, and the update of what is left.
void GpuBackend::launch_lu(const LuRequest& r) {
  constexpr std::string_view op = "lu";
  require_factors(op, r.matrices);
  const Size n = r.n, batch = r.matrices.batch;
  const std::uint64_t bytes = bytes_of(n * n * batch, r.matrices);
  const std::uint64_t bytes_of_rows = bytes_of(n * batch, DType::int32);
  const Binding factors = bind(op, r.factors, bytes);
  const AllocationRef scratch = memory_->scratch(op, bytes_of_rows);
  const Binding pivots = bind(op, BufferRange(scratch), bytes_of_rows);
  const Size block = factor_block(r.matrices);
  const Size units = device_->limits().planned_units;
  // Of a panel by columns, or the rows that each chunk of it leaves, and one, twice.
  const Size lines = RowChunks::most(n, batch, units) + 1;
  const Size of_a_panel = std::max(n * block, 2 * lines * (block + 2));
  const std::uint64_t bytes_of_panels = bytes_of(of_a_panel * batch, r.matrices);
  const AllocationRef room = memory_->scratch(op, bytes_of_panels);
  const std::array<Binding, 5> of_panel{factors, bind(op, r.permutation, bytes_of_rows),
                                        bind(op, r.status, bytes_of(2 * batch, DType::int32)),
                                        pivots, bind(op, BufferRange(room), bytes_of_panels)};
  if (!(r.factors == r.a)) {
    copy_between(buffer_of(r.factors), r.factors.offset, buffer_of(r.a), r.a.offset, bytes);
  }
  const BoundMatrices x{factors, n * n};
  const MatrixPart whole{0, n, 1};
  const auto fill = [&](TemplateVariables& v) {
    set_numbers(v, r.matrices);
    v["GROUP"] = std::int64_t{group_size};
  };
  const Binding panels = of_panel.back();
  const Size most = device_->limits().max_groups;
  const auto beside = [&](KernelId id, std::uint32_t form, Size k, Size size, const Binding& other,
                          Size groups, const auto& set) {
    for (Size first = 0; first < batch; first += most) {
      const std::array<std::uint32_t, 4> params{u32(n), u32(k), u32(size), u32(first)};
      run(id, variant_of(r.matrices, form), params, std::array{factors, other},
          {u32(groups), u32(std::min(most, batch - first)), 1}, set);
    }
  };
  const auto by_all = [&](Size k, Size size) {
    const RowChunks chunks(n - k, batch, units);
    for (Size first = 0; first < batch; first += most) {
      Size given = 0;
      for (Size step = 0; step <= size; ++step) {
        const Size groups = chunks.count(n - k - step);
        const std::array<std::uint32_t, 8> params{u32(n),     u32(k),    u32(size),
                                                  u32(first), u32(step), u32(chunks.rows()),
                                                  u32(given), u32(lines)};
        run(KernelId::lu_column, variant_of(r.matrices), params, of_panel,
            {u32(groups + 1), u32(std::min(most, batch - first)), 1}, fill);
        given = groups;
      }
    }
  };
  const auto by_one = [&](Size k, Size size) {
    const bool turns = n - k >= least_turned;
    const auto turn = [&](bool back) {
      beside(KernelId::lu_turn, back ? 1 : 0, k, size, panels, (n - k + block - 1) / block,
             [&](TemplateVariables& v) {
               fill(v);
               v["BACK"] = std::int64_t{back};
             });
    };
    if (turns) turn(false);
    const std::array<std::uint32_t, 5> params{u32(n), u32(k), u32(size), u32(batch),
                                              turns ? 1u : 0u};
    const HeldRows held(n - k, r.matrices, device_->limits());
    const std::array<std::uint32_t, 3> groups = cover(static_cast<std::uint64_t>(batch), 1);
    if (held.each == 0) {
      run(KernelId::lu_panel, variant_of(r.matrices), params, of_panel, groups, fill);
    } else {
      run(KernelId::lu_held, variant_of(r.matrices, u32(held.group + held.each)), params, of_panel,
          groups, [&](TemplateVariables& v) {
            fill(v);
            v["GROUP"] = std::int64_t{held.group};
            v["ROWS"] = std::int64_t{held.each};
          });
    }
    if (turns) turn(true);
  };
  for (Size k = 0; k < n; k += block) {
    const Size size = std::min(block, n - k), next = k + size;
    const bool shares =
        n - k >= least_shared || HeldRows(n - k, r.matrices, device_->limits()).each == 0;
    const std::size_t way =
        choices_->pick(lu_panel_choice, {n - k, batch},
                       {r.matrices.is_complex, r.matrices.dtype == DType::float64},
                       shares ? by_all_workgroups : by_one_workgroup);
    way == by_all_workgroups ? by_all(k, size) : by_one(k, size);
    if (size == n) break;
    constexpr Size columns = 32;  // of a workgroup
    beside(KernelId::lu_swaps, 0, k, size, pivots, (n - size + columns - 1) / columns, fill);
    if (next == n) break;
    solve_block(nullptr, whole.from(k, k), x, whole.from(k, next), size, n - next, true, false,
                r.matrices);
    update_matrices(nullptr, whole.from(next, k), x, whole.from(k, next), whole.from(next, next),
                    n - next, n - next, size, false, {}, r.matrices);
  }
}

}  // namespace tilewright::gpu
