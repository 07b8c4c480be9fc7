#include "core/ops/eigh.hpp"

#include <cstring>
#include <utility>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"

namespace tilewright::cpu {

namespace {

constexpr Size most_size = 30000;  // 2 n^2 are counted with 32 bits

bool finite_triangle(const auto* x, std::size_t n, bool upper) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!(upper ? all_finite(x + i * n + i, n - i) : all_finite(x + i * n, i + 1))) return false;
  }
  return true;
}

/// In its place, with the conjugate of each element.
template <class T>
void adjoin(T* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i * n + i] = conjugate(x[i * n + i]);
    for (std::size_t j = 0; j < i; ++j) {
      const T above = x[j * n + i];
      x[j * n + i] = conjugate(x[i * n + j]);
      x[i * n + j] = conjugate(above);
    }
  }
}

}  // namespace

void CpuBackend::do_eigh(const EighRequest& r) {
  const int n = lapack_size("eigh", "n", r.n, most_size);
  const char what = r.vectors ? 'V' : 'N';
  // Rows are columns to LAPACK, and what it has of A is its conjugate.
  const char half = r.upper ? 'L' : 'U';
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto size = static_cast<std::size_t>(n), elements = size * size;
    T wanted{};
    Real<T> wanted_reals{};
    int wanted_integers = 0;
    lapack_syevd<T>(what, half, n, nullptr, n, nullptr,
                    {&wanted, &wanted_reals, &wanted_integers, {-1, -1, -1}});
    const WorkSizes sizes{count_of(wanted), is_complex<T> ? count_of(wanted_reals) : 1,
                          wanted_integers};
    OpScratch all(*memory_, "eigh", floats_for<T>(sizes) + floats_for<T>(r.vectors ? 0 : elements),
                  static_cast<std::size_t>(r.matrices.batch));
    const double work = 9.0 * static_cast<double>(elements) * n;
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      Scratch scratch(all);
      const Work<T> room = take_work<T>(scratch, sizes);
      T* const x = r.vectors ? data<T>(r.vectors) + i * elements : take<T>(scratch, elements);
      const T* const a = data<T>(r.a) + i * elements;
      std::int32_t& status = data<std::int32_t>(r.status)[i];
      if (!finite_triangle(a, size, r.upper)) {
        status = -1;
        return;
      }
      std::memcpy(x, a, elements * sizeof(T));
      status = lapack_syevd(what, half, n, x, n, data<Real<T>>(r.values) + i * size, room);
      if (r.vectors) adjoin(x, size);
    });
  });
}

}  // namespace tilewright::cpu
