#include "core/ops/svd.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {
constexpr Size most_count = 4096;
}  // namespace

// By the one-sided Jacobi method, by blocks: the columns of A, or its rows where these are fewer,
// are turned until all are orthogonal, each two blocks of them at a time, in the rounds of a
// tournament. Their lengths are the singular values then. Each sweep begins by looking which
// matrices are done; what is launched for those after that returns at once.
void GpuBackend::launch_svd(const SvdRequest& r) {
  constexpr std::string_view op = "svd";
  require_factors(op, r.matrices);
  const Size batch = r.matrices.batch, count = r.count, length = std::max(r.m, r.n);
  const bool with_vectors = bool{r.u}, is_wide = r.n > r.m;
  const Size width = length + (with_vectors ? count : 0);
  if (count > most_count) {
    throw Unsupported(text(op, ": the smaller of m and n is ", count, ", and the ", name(),
                           " backend takes up to ", most_count, "; compute it on the cpu backend"));
  }
  const auto reals = [&](Size n) { return bytes_of(n, r.matrices.dtype); };
  const auto numbers = [&](Size n) { return bytes_of(n, r.matrices); };
  const auto scratch = [&](std::uint64_t bytes) {
    const AllocationRef room = memory_->scratch(op, bytes);
    return std::pair(room, bind(op, BufferRange(room), bytes));
  };
  const Size side = jacobi_side(r.matrices), blocks = (count + side / 2 - 1) / (side / 2);
  const Size players = std::max<Size>(blocks + blocks % 2, 2), pairs = players / 2;
  // Products of few pairs are shared out by their elements.
  const Size wanted = 2 * device_->limits().planned_units / (pairs * batch);
  // No longer than the loops of software devices.
  constexpr Size most_steps = 8192;
  const Size steps = (length / std::clamp<Size>(wanted, 1, 32)) / side + 1;
  const Size part = side * std::clamp<Size>(steps, 4, most_steps);
  const Size parts = (length + part - 1) / part;
  const Size measured = measuring_parts(r.m * r.n);
  const auto [x_room, x] = scratch(numbers(count * width * batch));
  const auto [measure_room, measures] = scratch(reals(3 * measured * batch));
  const auto [scale_room, scales] = scratch(reals(2 * batch));
  const auto [length_room, lengths] = scratch(reals(count * batch));
  const auto [limit_room, limits] = scratch(reals(batch));
  const auto [cosine_room, cosines] = scratch(reals(pairs * batch));
  const auto [active_room, active] = scratch(bytes_of(pairs * batch, DType::int32));
  const auto [gram_room, grams] = scratch(numbers(side * side * pairs * parts * batch));
  const auto [turn_room, turns] = scratch(numbers(side * side * pairs * batch));
  const Binding a = bind(op, r.a, numbers(r.m * r.n * batch));
  const Binding values = bind(op, r.values, reals(count * batch));
  const Binding status = bind(op, r.status, bytes_of(batch, DType::int32));
  const auto of_group = [&](std::uint32_t group) {
    return [&r, group](TemplateVariables& variables) {
      set_numbers(variables, r.matrices);
      variables["GROUP"] = std::int64_t{group};
    };
  };
  const bool is_long = length > 256;
  const std::uint32_t lanes = is_long ? 256 : 64;
  const std::uint32_t plain = variant_of(r.matrices),
                      variant = variant_of(r.matrices, is_long ? 1 : 0);
  const Size most = device_->limits().max_groups;
  const auto for_matrices = [&](const auto& body) {
    for (Size first = 0; first < batch; first += most) {
      body(u32(first), u32(std::min(most, batch - first)));
    }
  };
  const auto each = cover(static_cast<std::uint64_t>(batch), 1);

  for_matrices([&](std::uint32_t first, std::uint32_t matrices) {
    const std::array<std::uint32_t, 4> params{u32(r.m), u32(r.n), first, 0};
    run(KernelId::jacobi_measure, plain, params, std::array{a, measures},
        {u32(measured), matrices, 1}, of_group(group_size));
  });
  const auto of_reals = [&](TemplateVariables& variables) {
    set_real(variables, r.matrices);
    variables["GROUP"] = std::int64_t{64};
  };
  const std::array<std::uint32_t, 2> of_scale{u32(measured), u32(batch)};
  run(KernelId::jacobi_scale, plain, of_scale, std::array{measures, scales, status},
      cover(static_cast<std::uint64_t>(batch), 64), of_reals);
  const Size elements = count * width * batch;
  const std::array<std::uint32_t, 5> of_begin{u32(elements), u32(count), u32(length), u32(width),
                                              is_wide ? 1u : 0u};
  run(KernelId::svd_begin, plain, of_begin, std::array{a, scales, x},
      cover(static_cast<std::uint64_t>(elements), group_size), of_group(group_size));
  const auto measure_lengths = [&](std::uint32_t first, std::uint32_t matrices) {
    const std::array<std::uint32_t, 4> of_lengths{u32(count), u32(length), u32(width), first};
    run(KernelId::svd_lengths, variant, of_lengths, std::array{x, lengths},
        {u32(count), matrices, 1}, of_group(lanes));
  };
  const auto check = [&](bool begins) {
    for_matrices(measure_lengths);
    const std::array<std::uint32_t, 5> of_status{u32(pairs), u32(count), u32(length), u32(batch),
                                                 begins ? 1u : 0u};
    run(KernelId::svd_status, plain, of_status, std::array{cosines, lengths, status, limits}, each,
        of_reals);
  };
  // What is one pair comes to its end by sweeps over it alone. Values over many orders of
  // magnitude, which float32 does not have, take many sweeps over all, and fewer where each pair
  // gets two; it gets one in the first of them, which are all that most matrices take.
  constexpr Size usual_sweeps = 10;
  const auto inner = [&](Size sweep) -> std::uint32_t {
    if (pairs == 1) return 4;
    return side == 32 || sweep < usual_sweeps ? 1 : 2;
  };
  const Size sweeps = r.matrices.dtype == DType::float64 ? 48 : most_sweeps;
  const Size chunks = std::min<Size>((width + side - 1) / side, 4096);
  for (Size sweep = 0; count > 1 && sweep < sweeps; ++sweep) {
    check(sweep == 0);
    for (Size round = 0; round < players - 1; ++round) {
      for_matrices([&](std::uint32_t first, std::uint32_t matrices) {
        const std::array<std::uint32_t, 7> of_gram{u32(count),  u32(players), u32(round), first,
                                                   u32(length), u32(width),   u32(part)};
        run(KernelId::svd_gram, plain, of_gram, std::array{x, status, grams},
            {u32(pairs), u32(parts), matrices}, of_group(group_size));
        const std::array<std::uint32_t, 6> of_solve{u32(players), u32(round), first,
                                                    u32(length),  u32(parts), inner(sweep)};
        run(KernelId::svd_solve, plain, of_solve,
            std::array{grams, turns, active, cosines, limits, status}, {u32(pairs), matrices, 1},
            of_group(group_size));
        const std::array<std::uint32_t, 5> of_apply{u32(count), u32(players), u32(round), first,
                                                    u32(width)};
        run(KernelId::svd_apply, plain, of_apply, std::array{turns, active, status, x},
            {u32(pairs), u32(chunks), matrices}, of_group(group_size));
      });
    }
  }
  if (count > 1) {
    check(false);
  } else {
    for_matrices(measure_lengths);
  }
  std::vector<Binding> ordered{lengths, scales, values};
  if (with_vectors) {
    ordered.push_back(x);
    ordered.push_back(bind(op, r.u, numbers(r.m * r.u_columns * batch)));
    ordered.push_back(bind(op, r.vh, numbers(r.vh_rows * r.n * batch)));
  }
  for_matrices([&](std::uint32_t first, std::uint32_t matrices) {
    const std::array<std::uint32_t, 8> of_end{
        u32(count),           u32(length), u32(r.u_columns),  u32(r.m * r.u_columns),
        u32(r.vh_rows * r.n), u32(r.n),    is_wide ? 1u : 0u, first};
    run(KernelId::svd_end, variant_of(r.matrices, with_vectors ? 1 : 0), of_end, ordered,
        {u32(count), matrices, 1}, [&](TemplateVariables& variables) {
          set_numbers(variables, r.matrices);
          variables["GROUP"] = std::int64_t{64};
          variables["VECTORS"] = std::int64_t{with_vectors};
        });
  });
  if (!with_vectors) return;
  const Size all = is_wide ? r.vh_rows : r.u_columns;
  const auto [share_room, shares] = scratch(numbers(all * batch));
  // What a work-item makes of one vector is about as many turns; a software device takes 65,535.
  const Size turns_of_one = (3 * length + 2 * group_size) * (all + group_size) / group_size;
  const Size at_once = std::clamp<Size>(40000 / turns_of_one, 1, all);
  for (Size begin = 0; begin < all; begin += at_once) {
    const std::array<std::uint32_t, 9> of_rest{u32(count),
                                               u32(all),
                                               u32(length),
                                               u32(is_wide ? r.n : 1),
                                               u32(is_wide ? 1 : r.u_columns),
                                               u32(is_wide ? r.vh_rows * r.n : r.m * r.u_columns),
                                               u32(batch),
                                               u32(begin),
                                               u32(std::min(begin + at_once, all))};
    run(KernelId::svd_complete, plain, of_rest,
        std::array{values, ordered[is_wide ? 5 : 4], shares}, each, of_group(group_size));
  }
}

}  // namespace tilewright::gpu
