#include "core/ops/qr.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"

namespace tilewright::cpu {

namespace {
constexpr Size most_size = 1 << 24;  // working memory is some hundred times as much
}  // namespace

void CpuBackend::do_qr(const QrRequest& r) {
  const int m = lapack_size("qr", "m", r.m, most_size), n = lapack_size("qr", "n", r.n, most_size);
  const int k = static_cast<int>(r.reflections), columns = static_cast<int>(r.columns);
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto height = static_cast<std::size_t>(m), width = static_cast<std::size_t>(n);
    const auto of_q = static_cast<std::size_t>(columns), factors = static_cast<std::size_t>(k);
    // To LAPACK A is its transpose, so that A = Q R is there L Q.
    T wanted[2]{};
    lapack_gelqf<T>(n, m, nullptr, n, nullptr, &wanted[0], -1);
    lapack_orglq<T>(columns, m, k, nullptr, columns, nullptr, &wanted[1], -1);
    const int count = std::max(count_of(wanted[0]), count_of(wanted[1]));
    OpScratch all(*memory_, "qr",
                  floats_for<T>(height * width) + floats_for<T>(factors) +
                      floats_for<T>(static_cast<std::size_t>(count)),
                  static_cast<std::size_t>(r.matrices.batch));
    const double work = static_cast<double>(height * width) * k * 4;
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      Scratch scratch(all);
      T* const a = take<T>(scratch, height * width);
      T* const taken = take<T>(scratch, factors);
      T* const room = take<T>(scratch, static_cast<std::size_t>(count));
      T* const q = data<T>(r.q) + i * height * of_q;
      T* const upper = data<T>(r.r) + i * of_q * width;
      std::memcpy(a, data<T>(r.a) + i * height * width, height * width * sizeof(T));
      lapack_gelqf(n, m, a, n, taken, room, count);
      for (std::size_t row = 0; row < of_q; ++row) {
        const std::size_t zeros = std::min(row, width);
        std::fill_n(upper + row * width, zeros, T{});
        if (zeros < width) {
          std::copy_n(a + row * width + zeros, width - zeros, upper + row * width + zeros);
        }
      }
      for (std::size_t row = 0; row < height; ++row) {
        std::copy_n(a + row * width, factors, q + row * of_q);
      }
      lapack_orglq(columns, m, k, q, columns, taken, room, count);
    });
  });
}

}  // namespace tilewright::cpu
