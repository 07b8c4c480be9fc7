#include <cmath>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/norm_row.hpp"

namespace tilewright::cpu {

void CpuBackend::do_rmsnorm(const NormRequest& r) {
  normalize_rows(r, []<class T>(const T* x, std::size_t n, double eps) {
    const double mean_square = sum_of_squares_of_row(x, n, 0) / static_cast<double>(n);
    return RowScale{0, 0, static_cast<float>(1 / std::sqrt(mean_square + eps))};
  });
}

}  // namespace tilewright::cpu
