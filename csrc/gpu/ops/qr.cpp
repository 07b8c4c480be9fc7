#include "core/ops/qr.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu/backend.hpp"
#include "gpu/choice_points.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {

/// Rows from which on a column of a panel is one launch of all workgroups: reading it several times
/// takes one workgroup longer than the launch, which is some microseconds.
constexpr Size least_shared = 257;

/// The rows of a product of reflections with tiles of columns in pieces, each of a workgroup, that
/// fill the GPU.
struct RowPieces {
  Size count, rows;

  RowPieces(Size height, Size block, Size tiles, Size units) {
    constexpr Size least_blocks = 4;
    const Size blocks = (height + block - 1) / block;
    count = std::clamp<Size>(most(units) / tiles, 1, std::max<Size>(blocks / least_blocks, 1));
    rows = (blocks + count - 1) / count * block;
    count = (height + rows - 1) / rows;
  }
  /// Tiles of all pieces at most, where there are several.
  static Size most(Size units) { return filling(1024, units); }
};

}  // namespace

constinit const ChoicePoint qr_panel_choice{"qr_panel", panel_ways, {"complex", "float64"}};

// By panels of columns: the reflections of a panel, which are one of a factor, then the columns
// beside it. Q is the product of all of them, from the last panel on.
void GpuBackend::launch_qr(const QrRequest& r) {
  constexpr std::string_view op = "qr";
  require_factors(op, r.matrices);
  const Size batch = r.matrices.batch, count = r.reflections, block = factor_block(r.matrices);
  const Size of_q = r.m * r.columns * batch, of_r = r.columns * r.n * batch;
  const Size widest = std::max(r.n, r.columns);
  check_groups(op, (widest + block - 1) / block);
  const auto bytes = [&](Size elements) { return bytes_of(elements * batch, r.matrices); };
  const auto scratch = [&](Size elements) {
    const AllocationRef room = memory_->scratch(op, bytes(elements));
    return std::pair(room, bind(op, BufferRange(room), bytes(elements)));
  };
  const Binding q = bind(op, r.q, bytes_of(of_q, r.matrices));
  const Binding upper = bind(op, r.r, bytes_of(of_r, r.matrices));
  const auto [copy, x] = scratch(r.m * r.n);
  const auto [reflector_room, reflectors] = scratch(r.m * count);
  const auto [factor_room, factors] = scratch(count * block);
  const auto [product_room, products] = scratch(block * widest);
  copy_between(buffer_of(copy), 0, buffer_of(r.a), r.a.offset, bytes(r.m * r.n));
  const auto fill = [&](TemplateVariables& v) {
    set_numbers(v, r.matrices);
    v["GROUP"] = std::int64_t{group_size};
  };
  const std::uint32_t variant = variant_of(r.matrices);
  AllocationRef part_room;
  const auto project = [&](const Binding& target, Size at, Size from, Size columns, bool adjoint,
                           Size first, Size matrices) {
    const Size size = std::min(block, count - at), units = device_->limits().planned_units;
    const Size tiles = (columns - from + block - 1) / block;
    const RowPieces pieces(r.m - at, block, tiles * matrices, units);
    const auto stage = [&](std::int64_t number, auto bindings, Size groups) {
      const std::array<std::uint32_t, 10> params{
          u32(r.m),  u32(columns), u32(at),           u32(size),        u32(count),
          u32(from), u32(first),   adjoint ? 1u : 0u, u32(pieces.rows), u32(pieces.count)};
      run(KernelId::qr_project, variant_of(r.matrices, u32(number)), params, bindings,
          {u32(tiles), u32(matrices), u32(groups)}, [&](TemplateVariables& v) {
            fill(v);
            v["STAGE"] = number;
          });
    };
    if (pieces.count == 1) return stage(0, std::array{reflectors, target, factors, products}, 1);
    const std::uint64_t needed = bytes_of(RowPieces::most(units) * block * block, r.matrices);
    if (!part_room) part_room = memory_->scratch(op, needed);
    const Binding parts = bind(op, BufferRange(part_room), needed);
    stage(1, std::array{reflectors, target, parts}, pieces.count);
    stage(2, std::array{parts, factors, products}, 1);
  };
  const auto reflect = [&](const Binding& target, Size at, Size from, Size columns, bool adjoint) {
    const Size tiles = (columns - from + block - 1) / block, size = std::min(block, count - at);
    const Size rows = std::min<Size>((r.m - at + block - 1) / block, 1024);
    const Size most = device_->limits().max_groups;
    for (Size first = 0; tiles > 0 && first < batch; first += most) {
      const std::uint32_t matrices = u32(std::min(most, batch - first));
      project(target, at, from, columns, adjoint, first, matrices);
      const std::array<std::uint32_t, 7> of_update{u32(r.m),   u32(columns), u32(at),   u32(size),
                                                   u32(count), u32(from),    u32(first)};
      run(KernelId::qr_update, variant, of_update, std::array{reflectors, products, target},
          {u32(tiles), u32(rows), matrices}, fill);
    }
  };
  AllocationRef sum_room;
  const auto by_all = [&](Size at, Size size) {
    const Size units = device_->limits().planned_units;
    const RowChunks chunks(r.m - at, batch, units);
    const Size lines = RowChunks::most(r.m, batch, units) + 1;
    const Size of_sums = 2 * lines * (block + 1);
    if (!sum_room) sum_room = memory_->scratch(op, bytes(of_sums));
    const Binding sums = bind(op, BufferRange(sum_room), bytes(of_sums));
    const Size most = device_->limits().max_groups;
    for (Size first = 0; first < batch; first += most) {
      Size given = 0;
      for (Size step = 0; step <= size; ++step) {
        const Size groups = chunks.count(r.m - at - step);
        const std::array<std::uint32_t, 10> params{
            u32(r.m),  u32(r.n),           u32(at),    u32(size), u32(count), u32(first),
            u32(step), u32(chunks.rows()), u32(given), u32(lines)};
        run(KernelId::qr_column, variant, params, std::array{x, reflectors, factors, sums},
            {u32(groups + 1), u32(std::min(most, batch - first)), 1}, fill);
        given = groups;
      }
    }
  };
  const auto by_one = [&](Size at, Size size) {
    // A software device ends loops of more than 65,535 turns, those within others counted.
    const Size turns = 2 * (r.m - at) * block / group_size + 4 * (r.m - at) / group_size + 64;
    const Size at_once = std::clamp<Size>(40000 / turns, 1, size);
    for (Size begin = 0; begin < size; begin += at_once) {
      const std::array<std::uint32_t, 8> params{
          u32(r.m),   u32(r.n),   u32(at),    u32(size),
          u32(count), u32(batch), u32(begin), u32(std::min(begin + at_once, size))};
      run(KernelId::qr_panel, variant, params, std::array{x, reflectors, factors},
          cover(static_cast<std::uint64_t>(batch), 1), fill);
    }
  };
  for (Size at = 0; at < count; at += block) {
    const Size size = std::min(block, count - at), height = r.m - at;
    const std::size_t way =
        choices_->pick(qr_panel_choice, {height, batch},
                       {r.matrices.is_complex, r.matrices.dtype == DType::float64},
                       height >= least_shared ? by_all_workgroups : by_one_workgroup);
    way == by_all_workgroups ? by_all(at, size) : by_one(at, size);
    reflect(x, at, at + size, r.n, true);
  }
  const std::array<std::uint32_t, 5> params{u32(r.m), u32(r.n), u32(r.columns), u32(of_q),
                                            u32(of_r)};
  const std::array<Binding, 3> parts{x, q, upper};
  run(KernelId::qr_parts, variant, params, parts,
      cover(static_cast<std::uint64_t>(std::max(of_q, of_r)), group_size), fill);
  for (Size at = (count - 1) / block * block; at >= 0; at -= block) {
    reflect(q, at, at, r.columns, false);
  }
}

}  // namespace tilewright::gpu
