#include "gpu/ops/factor.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/text.hpp"
#include "gpu/backend.hpp"

// What blocked factorisations are made of: blocks on the diagonal, and updates of what is left.
namespace tilewright::gpu {

void GpuBackend::require_factors(std::string_view op, const Matrices& matrices) const {
  if (!lacking_feature(matrices.dtype).empty()) {
    throw Unsupported(text(op, ": ", device_->info().name, " has no float64 in kernels; cast to ",
                           matrices.is_complex ? "complex64" : "float32",
                           ", or compute it on the cpu backend"));
  }
}

void GpuBackend::check_groups(std::string_view op, Size groups) const {
  const Size most = device_->limits().max_groups;
  if (groups <= most) return;
  throw Unsupported(text(op, ": ", groups, " workgroups side by side, but ", device_->info().name,
                         " takes ", most, "; split the columns into several calls"));
}

void GpuBackend::solve_block(const BoundMatrices* a, const MatrixPart& of_a, const BoundMatrices& x,
                             const MatrixPart& of_x, Size size, Size columns, bool unit,
                             bool conjugate, const Matrices& matrices) {
  constexpr std::uint32_t group = 64;
  std::vector<Binding> bindings;
  if (a != nullptr) bindings.push_back(a->binding);
  bindings.push_back(x.binding);
  const bool same = a == nullptr;
  const Size most = device_->limits().max_groups, batch = matrices.batch;
  for (Size first = 0; first < batch; first += most) {
    const std::array<std::uint32_t, 13> params{
        u32(size),           u32(columns),         u32(first),
        unit ? 1u : 0u,      conjugate ? 1u : 0u,  wrapped(of_a.start),
        wrapped(of_a.row),   wrapped(of_a.column), wrapped(same ? x.apart : a->apart),
        wrapped(of_x.start), wrapped(of_x.row),    wrapped(of_x.column),
        wrapped(x.apart)};
    // Columns fit: as many elements lie in one binding.
    const std::array<std::uint32_t, 3> grid{u32((columns + group - 1) / group),
                                            u32(std::min(most, batch - first)), 1};
    run(KernelId::triangular_block, variant_of(matrices, same ? 1 : 0), params, bindings, grid,
        [&](TemplateVariables& v) {
          set_numbers(v, matrices);
          v["GROUP"] = std::int64_t{group};
          v["SAME"] = std::int64_t{same};
        });
  }
}

void GpuBackend::update_matrices(const BoundMatrices* a, const MatrixPart& of_a,
                                 const BoundMatrices& x, const MatrixPart& of_b,
                                 const MatrixPart& of_c, Size rows, Size columns, Size depth,
                                 bool lower, Conjugates conjugates, const Matrices& matrices) {
  const Size tile = matrices.is_complex && matrices.dtype == DType::float64 ? 32 : 64;
  if (rows == 0 || columns == 0) return;
  std::vector<Binding> bindings;
  if (a != nullptr) bindings.push_back(a->binding);
  bindings.push_back(x.binding);
  const bool same = a == nullptr;
  const Size most = device_->limits().max_groups, batch = matrices.batch;
  for (Size first = 0; first < batch; first += most) {
    const std::array<std::uint32_t, 17> params{u32(rows),
                                               u32(columns),
                                               u32(depth),
                                               u32(first),
                                               wrapped(of_a.start),
                                               wrapped(of_a.row),
                                               wrapped(of_a.column),
                                               wrapped(same ? x.apart : a->apart),
                                               wrapped(of_b.start),
                                               wrapped(of_b.row),
                                               wrapped(of_b.column),
                                               wrapped(of_c.start),
                                               wrapped(of_c.row),
                                               wrapped(of_c.column),
                                               wrapped(x.apart),
                                               lower ? 1u : 0u,
                                               (conjugates.a ? 1u : 0u) | (conjugates.b ? 2u : 0u)};
    const std::array<std::uint32_t, 3> grid{u32((columns + tile - 1) / tile),
                                            u32((rows + tile - 1) / tile),
                                            u32(std::min(most, batch - first))};
    run(KernelId::matrix_update, variant_of(matrices, same ? 1 : 0), params, bindings, grid,
        [&](TemplateVariables& v) {
          set_numbers(v, matrices);
          v["GROUP"] = std::int64_t{group_size};
          v["SAME"] = std::int64_t{same};
        });
  }
}

}  // namespace tilewright::gpu
