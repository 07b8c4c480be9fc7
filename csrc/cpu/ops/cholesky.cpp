#include "core/ops/cholesky.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/backend.hpp"
#include "cpu/lapack.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

constexpr int block = 192;
/// Below this a factor is one call: threads would not gain by sharing it.
constexpr int shared_from = 512;

/// Calls body(first, count) for pieces of [begin, end), some for each thread.
template <class Body>
void in_pieces(int begin, int end, int least, Body&& body) {
  const int pieces = std::clamp((end - begin) / least, 1, 4 * static_cast<int>(thread_count()));
  const int step = ((end - begin + pieces - 1) / pieces + 15) / 16 * 16;
  parallel_tasks(static_cast<std::size_t>((end - begin + step - 1) / step), [&](std::size_t i) {
    const int first = begin + static_cast<int>(i) * step;
    body(first, std::min(step, end - first));
  });
}

/// Of the lower triangle of an n x n matrix by rows, in its place.
template <class T>
int factor(T* x, int n) {
  // Those rows are columns to LAPACK, whose triangle is the upper one then.
  if (thread_count() == 1 || n < shared_from) return lapack_potrf('U', n, x, n);
  const auto at = [&](int row, int column) {
    return x + static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + column;
  };
  for (int k = 0; k < n; k += block) {
    const int size = std::min(block, n - k), next = k + size;
    if (const int info = lapack_potrf('U', size, at(k, k), n); info != 0) return k + info;
    if (next == n) break;
    in_pieces(next, n, 32, [&](int row, int rows) {
      blas_trsm(from_right, lower_half, conjugated, general, rows, size, at(k, k), n, at(row, k),
                n);
    });
    // Each piece of rows up to its end on the diagonal; long rows first.
    const int pieces = std::clamp((n - next) / 64, 1, 8 * static_cast<int>(thread_count()));
    const int step = (n - next + pieces - 1) / pieces;
    const int count = (n - next + step - 1) / step;
    parallel_tasks(static_cast<std::size_t>(count), [&](std::size_t i) {
      const int row = next + (count - 1 - static_cast<int>(i)) * step;
      const int rows = std::min(step, n - row);
      blas_gemm(as_it_is, conjugated, rows, row + rows - next, size, T(-1), at(row, k), n,
                at(next, k), n, T(1), at(row, next), n);
    });
  }
  return 0;
}

template <class T>
std::int32_t factored(T* x, int n, bool upper) {
  const auto size = static_cast<std::size_t>(n);
  if (upper) {
    // The lower factor of what the upper triangle says, on that side.
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) x[i * size + j] = conjugate(x[j * size + i]);
    }
  }
  const int info = factor(x, n);
  for (std::size_t i = 0; i < size; ++i) {
    if (!(std::real(x[i * size + i]) > 0)) return static_cast<std::int32_t>(i + 1);
  }
  if (info != 0) return info;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      if (upper) {
        x[i * size + j] = conjugate(x[j * size + i]);
        x[j * size + i] = 0;
      } else {
        x[i * size + j] = 0;
      }
    }
  }
  return 0;
}

}  // namespace

void CpuBackend::do_cholesky(const CholeskyRequest& r) {
  const int n = lapack_size("cholesky", "n", r.n, std::numeric_limits<int>::max());
  with_matrix_type(r.matrices.dtype, r.matrices.is_complex, [&]<class T>(T) {
    const auto elements = static_cast<std::size_t>(r.n) * static_cast<std::size_t>(r.n);
    const double work = static_cast<double>(r.n) * static_cast<double>(r.n) * (n / 3.0 + 1);
    for_matrices(r.matrices.batch, work, [&](std::size_t i) {
      T* const x = data<T>(r.factor) + i * elements;
      if (!(r.factor == r.a)) std::memcpy(x, data<T>(r.a) + i * elements, elements * sizeof(T));
      data<std::int32_t>(r.status)[i] = factored(x, n, r.upper);
    });
  });
}

}  // namespace tilewright::cpu
