#include "core/ops/svd.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

namespace {
constexpr Size most_count = 4096;
}  // namespace

// By the one-sided Jacobi method: the columns of A, or its rows where these are fewer, are turned
// pair by pair until all are orthogonal, in the rounds of a tournament. Their lengths are the
// singular values then. How often all meet follows from their number; what has not come to an end
// by then has a status.
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
  const Size players = count + count % 2, pairs = players / 2;
  const auto [x_room, x] = scratch(numbers(count * width * batch));
  const auto [scale_room, scales] = scratch(reals(3 * batch));
  const auto [cosine_room, cosines] = scratch(reals(pairs * batch));
  const auto [length_room, lengths] = scratch(reals(count * batch));
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

  const std::array<std::uint32_t, 3> of_scale{u32(r.m * r.n), u32(count), u32(batch)};
  run(KernelId::svd_scale, plain, of_scale, std::array{a, scales, status}, each,
      of_group(group_size));
  const Size elements = count * width * batch;
  const std::array<std::uint32_t, 5> of_begin{u32(elements), u32(count), u32(length), u32(width),
                                              is_wide ? 1u : 0u};
  run(KernelId::svd_begin, plain, of_begin, std::array{a, scales, x},
      cover(static_cast<std::uint64_t>(elements), group_size), of_group(group_size));
  // Jacobi's sweeps grow with the logarithm of the size; drawn matrices of 700 take 12 to 15.
  const Size sweeps = count == 1 ? 0
                                 : (r.matrices.dtype == DType::float64 ? 12 : 6) +
                                       std::bit_width(static_cast<std::uint64_t>(count));
  for (Size round = 0; round < sweeps * (players - 1); ++round) {
    const Size in_last = round - (sweeps - 1) * (players - 1);
    const std::uint32_t measure = in_last < 0 ? 0 : in_last == 0 ? 1 : 2;
    for_matrices([&](std::uint32_t first, std::uint32_t matrices) {
      const std::array<std::uint32_t, 7> params{
          u32(count), u32(players), u32(round % (players - 1)), first, u32(length),
          u32(width), measure};
      run(KernelId::svd_rotate, variant, params, std::array{x, scales, cosines},
          {u32(pairs), matrices, 1}, of_group(lanes));
    });
  }
  if (sweeps > 0) {
    const std::array<std::uint32_t, 2> of_status{u32(pairs), u32(batch)};
    run(KernelId::svd_status, plain, of_status, std::array{cosines, status}, each,
        [&](TemplateVariables& variables) {
          set_real(variables, r.matrices);
          variables["GROUP"] = std::int64_t{64};
        });
  }
  std::vector<Binding> ordered{lengths, scales, values};
  if (with_vectors) {
    ordered.push_back(x);
    ordered.push_back(bind(op, r.u, numbers(r.m * r.u_columns * batch)));
    ordered.push_back(bind(op, r.vh, numbers(r.vh_rows * r.n * batch)));
  }
  for_matrices([&](std::uint32_t first, std::uint32_t matrices) {
    const std::array<std::uint32_t, 4> of_lengths{u32(count), u32(length), u32(width), first};
    run(KernelId::svd_lengths, variant, of_lengths, std::array{x, lengths},
        {u32(count), matrices, 1}, of_group(lanes));
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
  const std::array<std::uint32_t, 7> of_rest{u32(count),
                                             u32(all),
                                             u32(length),
                                             u32(is_wide ? r.n : 1),
                                             u32(is_wide ? 1 : r.u_columns),
                                             u32(is_wide ? r.vh_rows * r.n : r.m * r.u_columns),
                                             u32(batch)};
  run(KernelId::svd_complete, plain, of_rest, std::array{values, ordered[is_wide ? 5 : 4], shares},
      each, of_group(group_size));
}

}  // namespace tilewright::gpu
