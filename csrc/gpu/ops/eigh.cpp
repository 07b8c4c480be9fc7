#include "core/ops/eigh.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {
constexpr Size most_size = 4096;
}  // namespace

// By Jacobi's method: in each round of a tournament all rows are paired, and for each pair a
// rotation makes the element where they meet 0. How often all meet follows from their number; what
// has not come to an end by then has a status.
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
  const Size players = n + n % 2, pairs = players / 2;
  const auto scratch = [&](std::uint64_t size) {
    const AllocationRef room = memory_->scratch(op, size);
    return std::pair(room, bind(op, BufferRange(room), size));
  };
  const auto [a_room, a] = scratch(bytes);
  const auto [angle_room, angles] = scratch(bytes_of(2 * pairs * batch, r.matrices));
  const auto [v_room, v] = with_vectors ? scratch(bytes) : std::pair(AllocationRef(), Binding{});
  const auto [limit_room, limits] = scratch(bytes_of(batch, matrices.dtype));
  const Binding values = bind(op, r.values, bytes_of(n * batch, r.matrices.dtype));
  const Binding status = bind(op, r.status, bytes_of(batch, DType::int32));
  const auto with_v = [&](std::vector<Binding> bindings) {
    if (with_vectors) bindings.push_back(v);
    return bindings;
  };
  const auto fill = [&](std::uint32_t group) {
    return [=](TemplateVariables& variables) {
      set_numbers(variables, matrices);
      variables["GROUP"] = std::int64_t{group};
      variables["VECTORS"] = std::int64_t{with_vectors};
    };
  };
  const auto plain = [&](std::uint32_t group) {
    return [=](TemplateVariables& variables) {
      set_numbers(variables, matrices);
      variables["GROUP"] = std::int64_t{group};
    };
  };
  const std::uint32_t variant = variant_of(matrices, with_vectors ? 1 : 0);
  const Size most = device_->limits().max_groups;

  const std::array<std::uint32_t, 3> of_begin{u32(n), u32(elements), r.upper ? 1u : 0u};
  run(KernelId::jacobi_begin, variant, of_begin, with_v({bind(op, r.a, bytes), a}),
      cover(static_cast<std::uint64_t>(elements), group_size), fill(group_size));
  constexpr std::uint32_t angle_group = 64;
  const Size items = pairs * (pairs + (with_vectors ? n : 0));
  const bool is_double = matrices.dtype == DType::float64;
  const Size sweeps = (is_double ? 11 : 5) + std::bit_width(static_cast<std::uint64_t>(n));
  const std::vector<Binding> turned = with_v({angles, a});
  const std::array<std::uint32_t, 2> of_status{u32(n), u32(batch)};
  const std::array<Binding, 3> checked{a, status, limits};
  const auto check = [&] {
    run(KernelId::jacobi_status, variant_of(matrices), of_status, checked,
        cover(static_cast<std::uint64_t>(batch), 1), plain(group_size));
  };
  for (Size round = 0; n > 1 && round < sweeps * (players - 1); ++round) {
    if (round % (players - 1) == 0) check();
    for (Size first = 0; first < batch; first += most) {
      const Size count = std::min(most, batch - first);
      const std::array<std::uint32_t, 4> params{u32(n), u32(players), u32(round % (players - 1)),
                                                u32(first)};
      const std::array<Binding, 3> of_angles{a, angles, limits};
      run(KernelId::jacobi_angles, variant_of(matrices), params, of_angles,
          {u32((pairs + angle_group - 1) / angle_group), u32(count), 1}, plain(angle_group));
      run(KernelId::jacobi_rotate, variant, params, turned,
          {u32((items + group_size - 1) / group_size), u32(count), 1}, fill(group_size));
    }
  }
  check();
  std::vector<Binding> ordered = with_v({a, values});
  if (with_vectors) ordered.push_back(bind(op, r.vectors, bytes));
  for (Size first = 0; first < batch; first += most) {
    const std::array<std::uint32_t, 2> params{u32(n), u32(first)};
    run(KernelId::jacobi_end, variant, params, ordered,
        {u32(n), u32(std::min(most, batch - first)), 1}, fill(angle_group));
  }
}

}  // namespace tilewright::gpu
