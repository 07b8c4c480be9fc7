#include <cmath>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/norm_row.hpp"

namespace tilewright::cpu {

void CpuBackend::do_layer_norm(const NormRequest& r) {
  normalize_rows<true>(r, []<class T>(const T* x, std::size_t n, double eps) {
    const ElementKernels<T>& k = kernels_for<T>();
    const auto count = static_cast<double>(n);
    const double sum = join_chunks(
        n, [&](std::size_t begin, std::size_t length) { return k.sum(x + begin, length); },
        [](double a, double b) { return a + b; });
    // What the first mean is off by shows in the deviations from it, also where it is large.
    const auto centre = static_cast<float>(sum / count);
    const Deviations d = join_chunks(
        n,
        [&](std::size_t begin, std::size_t length) {
          return k.deviations(x + begin, length, centre);
        },
        [](const Deviations& a, const Deviations& b) {
          return Deviations{a.sum + b.sum, a.squares + b.squares};
        });
    const double offset = d.sum / count;
    const double variance = d.squares / count - offset * offset;
    return RowScale{centre, static_cast<float>(offset),
                    static_cast<float>(1 / std::sqrt(variance + eps))};
  });
}

}  // namespace tilewright::cpu
