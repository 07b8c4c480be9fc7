#include <cmath>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/ops/norm_row.hpp"

namespace tilewright::cpu {

void CpuBackend::do_rmsnorm(const NormRequest& r) {
  normalize_rows<false>(r, []<class T>(const T* x, std::size_t n, double eps) {
    const double squares = join_chunks(
        n,
        [&](std::size_t begin, std::size_t length) {
          return kernels_for<T>().sum_of_squares(x + begin, length);
        },
        [](double a, double b) { return a + b; });
    const double mean_square = squares / static_cast<double>(n);
    return RowScale{0, 0, static_cast<float>(1 / std::sqrt(mean_square + eps))};
  });
}

}  // namespace tilewright::cpu
