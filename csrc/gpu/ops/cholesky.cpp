#include "core/ops/cholesky.hpp"

#include <algorithm>
#include <array>

#include "gpu/backend.hpp"
#include "gpu/ops/factor.hpp"

namespace tilewright::gpu {

// By blocks of columns: the one on the diagonal, what is below it, and the update of what is left.
void GpuBackend::launch_cholesky(const CholeskyRequest& r) {
  constexpr std::string_view op = "cholesky";
  require_factors(op, r.matrices);
  const Size n = r.n, batch = r.matrices.batch, elements = n * n * batch;
  const std::uint64_t bytes = bytes_of(elements, r.matrices);
  const Binding factor = bind(op, r.factor, bytes);
  const Binding status = bind(op, r.status, bytes_of(batch, DType::int32));
  const auto triangle = [&](const Binding* source, bool from_upper, bool to_upper) {
    const std::array<std::uint32_t, 4> params{u32(n), u32(elements), from_upper ? 1u : 0u,
                                              to_upper ? 1u : 0u};
    const std::array<Binding, 2> both{source != nullptr ? *source : factor, factor};
    const bool in_place = source == nullptr;
    run(KernelId::triangle, variant_of(r.matrices, in_place ? 1 : 0), params,
        std::span(both).subspan(in_place ? 1 : 0),
        cover(static_cast<std::uint64_t>(elements), group_size), [&](TemplateVariables& v) {
          set_numbers(v, r.matrices);
          v["GROUP"] = std::int64_t{group_size};
          v["IN_PLACE"] = std::int64_t{in_place};
        });
  };
  if (r.factor == r.a) {
    triangle(nullptr, r.upper, false);
  } else {
    const Binding a = bind(op, r.a, bytes);
    triangle(&a, r.upper, false);
  }
  const BoundMatrices x{factor, n * n};
  const MatrixPart whole{0, n, 1};
  const Size block = factor_block(r.matrices);
  for (Size k = 0; k < n; k += block) {
    const Size size = std::min(block, n - k), next = k + size;
    const std::array<std::uint32_t, 4> params{u32(n), u32(k), u32(size), u32(batch)};
    const std::array<Binding, 2> both{factor, status};
    run(KernelId::cholesky_block, variant_of(r.matrices), params, both,
        cover(static_cast<std::uint64_t>(batch), 1), [&](TemplateVariables& v) {
          set_numbers(v, r.matrices);
          v["GROUP"] = std::int64_t{group_size};
        });
    if (next == n) break;
    // P L^H = A is conj(L) P^T = A^T.
    solve_block(nullptr, whole.from(k, k), x, whole.from(next, k).transposed(), size, n - next,
                false, true, r.matrices);
    update_matrices(nullptr, whole.from(next, k), x, whole.from(next, k).transposed(),
                    whole.from(next, next), n - next, n - next, size, true, {.b = true},
                    r.matrices);
  }
  if (r.upper) triangle(nullptr, false, true);
}

}  // namespace tilewright::gpu
