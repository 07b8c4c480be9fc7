#include "core/ops/svd.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"

namespace tilewright::cpu {

namespace {
constexpr Size most_count = 18000;  // some n^2 are counted with 32 bits
constexpr Size most_size = 1 << 24;
}  // namespace

void CpuBackend::do_svd(const SvdRequest& r) {
  const int m = lapack_size("svd", "m", r.m, most_size),
            n = lapack_size("svd", "n", r.n, most_size);
  const int k = lapack_size("svd", "the smaller of m and n", r.count, most_count);
  const int u_columns = static_cast<int>(r.u_columns);
  // To LAPACK A is its transpose, V^* S U^T, so that vh and u are in each other's place, by columns
  // what they are here by rows.
  const char what = !r.u ? 'N' : r.u_columns == r.count && r.vh_rows == r.count ? 'S' : 'A';
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto height = static_cast<std::size_t>(m), width = static_cast<std::size_t>(n);
    const auto least = static_cast<std::size_t>(k), largest = std::max(height, width);
    const auto of_u = static_cast<std::size_t>(r.u_columns) * height;
    const auto of_vh = static_cast<std::size_t>(r.vh_rows) * width;
    T wanted{};
    Real<T> wanted_reals{};
    int wanted_integers = 0;
    lapack_gesdd<T>(what, n, m, nullptr, n, nullptr, nullptr, n, nullptr, u_columns,
                    {&wanted, &wanted_reals, &wanted_integers, {-1, -1, -1}});
    const WorkSizes sizes{count_of(wanted), 1, 8 * k};
    // Of real numbers, counted by LAPACK's rule for these.
    const std::size_t reals =
        is_complex<T> ? least * std::max(5 * least + 7, 2 * largest + 2 * least + 1) : 1;
    OpScratch all(*memory_, "svd",
                  floats_for<T>(sizes) + floats_for<Real<T>>(reals) + floats_for<T>(height * width),
                  static_cast<std::size_t>(r.matrices.batch));
    const double work = 6.0 * static_cast<double>(height * width) * k;
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      Scratch scratch(all);
      Work<T> room = take_work<T>(scratch, sizes);
      room.reals = take<Real<T>>(scratch, reals);
      T* const a = take<T>(scratch, height * width);
      std::memcpy(a, data<T>(r.a) + i * height * width, height * width * sizeof(T));
      std::int32_t& status = data<std::int32_t>(r.status)[i];
      if (!all_finite(a, height * width)) {
        status = -1;
        return;
      }
      T* const u = r.u ? data<T>(r.u) + i * of_u : nullptr;
      T* const vh = r.vh ? data<T>(r.vh) + i * of_vh : nullptr;
      status = lapack_gesdd(what, n, m, a, n, data<Real<T>>(r.values) + i * least, vh, n, u,
                            u_columns, room);
    });
  });
}

}  // namespace tilewright::cpu
