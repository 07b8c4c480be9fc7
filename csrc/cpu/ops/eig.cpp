#include "core/ops/eig.hpp"

#include <complex>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"

namespace tilewright::cpu {

namespace {

constexpr Size most_size = 1 << 22;

/// A real matrix has its complex eigenvalues in pairs, whose first vector is given as its real and
/// its imaginary part.
template <class R>
void spread(const R* values, const R* vectors, std::size_t n, std::complex<R>* to,
            std::complex<R>* vectors_to) {
  const R* const imaginary = values + n;
  for (std::size_t j = 0; j < n; ++j) to[j] = {values[j], imaginary[j]};
  if (vectors_to == nullptr) return;
  for (std::size_t j = 0; j < n; ++j) {
    const R* const column = vectors + j * n;
    if (imaginary[j] == 0 || j + 1 == n) {
      for (std::size_t i = 0; i < n; ++i) vectors_to[i * n + j] = column[i];
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      vectors_to[i * n + j] = {column[i], column[n + i]};
      vectors_to[i * n + j + 1] = {column[i], -column[n + i]};
    }
    ++j;
  }
}

}  // namespace

void CpuBackend::do_eig(const EigRequest& r) {
  const int n = lapack_size("eig", "n", r.n, most_size);
  const char what = r.vectors ? 'V' : 'N';
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    using C = std::complex<Real<T>>;
    const auto size = static_cast<std::size_t>(n), elements = size * size;
    T wanted{};
    Real<T> wanted_reals{};
    int none = 0;
    lapack_geev<T>(what, n, nullptr, n, nullptr, nullptr, n,
                   {&wanted, &wanted_reals, &none, {-1, -1, -1}});
    const WorkSizes sizes{count_of(wanted), 2 * n, 1};
    const std::size_t room_of_values = 2 * size, room_of_vectors = r.vectors ? elements : 1;
    OpScratch all(*memory_, "eig",
                  floats_for<T>(sizes) + floats_for<T>(elements) + floats_for<T>(room_of_values) +
                      floats_for<T>(room_of_vectors),
                  static_cast<std::size_t>(r.matrices.batch));
    const double work = 25.0 * static_cast<double>(elements) * n;
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      Scratch scratch(all);
      const Work<T> room = take_work<T>(scratch, sizes);
      T* const a = take<T>(scratch, elements);
      T* const values = take<T>(scratch, room_of_values);
      T* const vectors = take<T>(scratch, room_of_vectors);
      const T* const given = data<T>(r.a) + i * elements;
      std::int32_t& status = data<std::int32_t>(r.status)[i];
      if (!all_finite(given, elements)) {
        status = -1;
        return;
      }
      transpose_to(given, size, a, size, size, size);
      status = lapack_geev(what, n, a, n, values, vectors, n, room);
      C* const to = data<C>(r.values) + i * size;
      C* const vectors_to = r.vectors ? data<C>(r.vectors) + i * elements : nullptr;
      if constexpr (is_complex<T>) {
        std::copy_n(values, size, to);
        if (r.vectors) transpose_to(vectors, size, vectors_to, size, size, size);
      } else {
        spread(values, vectors, size, to, vectors_to);
      }
    });
  });
}

}  // namespace tilewright::cpu
