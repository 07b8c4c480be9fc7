#include <cmath>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/norm_row.hpp"

namespace tilewright::cpu {

void CpuBackend::do_layer_norm(const NormRequest& r) {
  normalize_rows(r, []<class T>(const T* x, std::size_t n, double eps) {
    const auto count = static_cast<double>(n);
    const double mean = sum_of_row(x, n) / count;
    const auto centre = static_cast<float>(mean);
    const double offset = mean - centre;
    const double variance = sum_of_squares_of_row(x, n, centre) / count - offset * offset;
    return RowScale{centre, static_cast<float>(offset),
                    static_cast<float>(1 / std::sqrt(variance + eps))};
  });
}

}  // namespace tilewright::cpu
