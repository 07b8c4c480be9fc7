#include "core/ops/eigh.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {
constexpr Size most_size = 4096;
}  // namespace

// By Jacobi's method, by blocks: in each round of a tournament all blocks of rows are paired,
// sweeps over the square of each pair make it more diagonal, and its rotations are applied to all
// that it meets. Each sweep begins by looking which matrices are diagonal; what is launched for
// those after that returns at once.
void GpuBackend::launch_eigh(const EighRequest& r) {
  constexpr std::string_view op = "eigh";
  require_factors(op, r.matrices);
  const Size n = r.n, batch = r.matrices.batch, elements = n * n * batch;
  if (n > most_size) {
    throw Unsupported(text(op, ": n is ", n, ", and the ", name(), " backend takes up to ",
                           most_size, "; compute it on the cpu backend"));
  }
  const bool with_vectors = bool{r.vectors};
  const Matrices& matrices = r.matrices;
  const std::uint64_t bytes = bytes_of(elements, r.matrices);
  const Size side = jacobi_side(matrices), blocks = (n + side / 2 - 1) / (side / 2);
  const Size players = std::max<Size>(blocks + blocks % 2, 2), pairs = players / 2;
  const auto reals = [&](Size count) { return bytes_of(count, matrices.dtype); };
  const auto scratch = [&](std::uint64_t size) {
    const AllocationRef room = memory_->scratch(op, size);
    return std::pair(room, bind(op, BufferRange(room), size));
  };
  const Size parts = measuring_parts(n * n);
  const auto [a_room, a] = scratch(bytes);
  const auto [v_room, v] = with_vectors ? scratch(bytes) : std::pair(AllocationRef(), Binding{});
  const auto [turn_room, turns] = scratch(bytes_of(side * side * pairs * batch, matrices));
  const auto [active_room, active] = scratch(bytes_of(pairs * batch, DType::int32));
  const auto [measure_room, measures] = scratch(reals(3 * parts * batch));
  const auto [scale_room, scales] = scratch(reals(2 * batch));
  const auto [limit_room, limits] = scratch(reals(batch));
  const Binding source = bind(op, r.a, bytes);
  const Binding values = bind(op, r.values, reals(n * batch));
  const Binding status = bind(op, r.status, bytes_of(batch, DType::int32));
  const auto with_v = [&](std::vector<Binding> bindings) {
    if (with_vectors) bindings.push_back(v);
    return bindings;
  };
  const auto plain = [&](std::uint32_t group) {
    return [=](TemplateVariables& variables) {
      set_numbers(variables, matrices);
      variables["GROUP"] = std::int64_t{group};
    };
  };
  const auto fill = [&](std::uint32_t group) {
    return [=](TemplateVariables& variables) {
      plain(group)(variables);
      variables["VECTORS"] = std::int64_t{with_vectors};
    };
  };
  const std::uint32_t variant = variant_of(matrices, with_vectors ? 1 : 0);
  constexpr std::uint32_t narrow = 64;
  const auto each = cover(static_cast<std::uint64_t>(batch), narrow);
  const auto for_matrices = [&](const auto& body) {
    const Size most = device_->limits().max_groups;
    for (Size first = 0; first < batch; first += most) {
      body(u32(first), u32(std::min(most, batch - first)));
    }
  };
  const auto of_reals = [&](TemplateVariables& variables) {
    set_real(variables, matrices);
    variables["GROUP"] = std::int64_t{narrow};
  };
  const auto measure = [&](const Binding& of, std::uint32_t triangle) {
    for_matrices([&](std::uint32_t first, std::uint32_t count) {
      const std::array<std::uint32_t, 4> params{u32(n), u32(n), first, triangle};
      run(KernelId::jacobi_measure, variant_of(matrices), params, std::array{of, measures},
          {u32(parts), count, 1}, plain(group_size));
    });
  };
  const auto check = [&] {
    measure(a, 0);
    const std::array<std::uint32_t, 3> params{u32(n), u32(parts), u32(batch)};
    run(KernelId::jacobi_status, variant_of(matrices), params, std::array{measures, status, limits},
        each, of_reals);
  };

  measure(source, r.upper ? 2 : 1);
  const std::array<std::uint32_t, 2> of_scale{u32(parts), u32(batch)};
  run(KernelId::jacobi_scale, variant_of(matrices), of_scale, std::array{measures, scales, status},
      each, of_reals);
  const std::array<std::uint32_t, 3> of_begin{u32(n), u32(elements), r.upper ? 1u : 0u};
  run(KernelId::jacobi_begin, variant, of_begin, with_v({source, scales, a}),
      cover(static_cast<std::uint64_t>(elements), group_size), fill(group_size));
  const std::array<Binding, 5> of_solve{a, turns, active, limits, status};
  const std::vector<Binding> of_apply = with_v({turns, active, status, a});
  const Size tiles = pairs / 2 + (with_vectors ? (n + side - 1) / side : 0);
  // What is one pair comes to its end by sweeps over it alone.
  const std::uint32_t inner = pairs == 1 ? 4 : 1;
  for (Size sweep = 0; n > 1 && sweep < most_sweeps; ++sweep) {
    check();
    for (Size round = 0; round < players - 1; ++round) {
      for_matrices([&](std::uint32_t first, std::uint32_t count) {
        const std::array<std::uint32_t, 5> params{u32(n), u32(players), u32(round), first, inner};
        run(KernelId::jacobi_solve, variant_of(matrices), params, of_solve, {u32(pairs), count, 1},
            plain(group_size));
        if (tiles == 0) return;
        const std::array<std::uint32_t, 4> of_tiles{u32(n), u32(players), u32(round), first};
        run(KernelId::jacobi_apply, variant, of_tiles, of_apply, {u32(pairs), u32(tiles), count},
            fill(group_size));
      });
    }
  }
  check();
  std::vector<Binding> ordered = with_v({a, scales, values});
  if (with_vectors) ordered.push_back(bind(op, r.vectors, bytes));
  for_matrices([&](std::uint32_t first, std::uint32_t count) {
    const std::array<std::uint32_t, 2> params{u32(n), first};
    run(KernelId::jacobi_end, variant, params, ordered, {u32(n), count, 1}, fill(narrow));
  });
}

}  // namespace tilewright::gpu
