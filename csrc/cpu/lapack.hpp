#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "core/text.hpp"
#include "cpu/openblas.hpp"
#include "cpu/openblas_memory.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"
#include "tilewright/error.hpp"
#include "tilewright/types.hpp"

// LAPACK and what it is made of, for float, double and complex numbers of both, on the calling
// thread. LAPACK has matrices by columns: a matrix by rows is to it its transpose.
namespace tilewright::cpu {

template <class T>
struct IsComplex : std::false_type {};
template <class R>
struct IsComplex<std::complex<R>> : std::true_type {};
template <class T>
inline constexpr bool is_complex = IsComplex<T>::value;

/// What the absolute value of a T is.
template <class T>
using Real = decltype(std::abs(T{}));

template <class T>
inline T conjugate(T x) {
  if constexpr (is_complex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

/// Calls body(T{}) with the type of a matrix's elements.
template <class Body>
void with_matrix_type(DType dtype, bool is_complex, Body&& body) {
  if (dtype == DType::float32) {
    is_complex ? body(std::complex<float>{}) : body(float{});
  } else {
    is_complex ? body(std::complex<double>{}) : body(double{});
  }
}

/// The routine as this function. Its letters have their lengths behind all arguments, as Fortran
/// passes them.
template <class T, class... Arguments>
void call_routine(Routine routine, Arguments... arguments) {
  constexpr std::size_t type = (is_complex<T> ? 2 : 0) + (sizeof(Real<T>) == 8 ? 1 : 0);
  const OpenBlas& blas = openblas();
  const ProductMemory memory;
  reinterpret_cast<void (*)(Arguments...)>(blas.routines[type][static_cast<std::size_t>(routine)])(
      arguments...);
}

inline constexpr int by_rows = 101;
inline constexpr int as_it_is = 111, transposed = 112, conjugated = 113;
inline constexpr int upper_half = 121, lower_half = 122;
inline constexpr int general = 131, unit_diagonal = 132;
inline constexpr int from_left = 141, from_right = 142;
inline constexpr std::size_t one_letter = 1;

/// C = alpha op(A) op(B) + beta C of matrices by rows.
template <class T>
void blas_gemm(int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
               int ldb, T beta, T* c, int ldc) {
  if constexpr (is_complex<T>) {
    call_routine<T>(Routine::gemm, by_rows, op_a, op_b, m, n, k, static_cast<const T*>(&alpha), a,
                    lda, b, ldb, static_cast<const T*>(&beta), c, ldc);
  } else {
    call_routine<T>(Routine::gemm, by_rows, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                    ldc);
  }
}

/// X of op(A) X = B, or of X op(A) = B from the right, m x n by rows, in B's place.
template <class T>
void blas_trsm(int side, int half, int op, int diagonal, int m, int n, const T* a, int lda, T* b,
               int ldb) {
  const T one = 1;
  if constexpr (is_complex<T>) {
    call_routine<T>(Routine::trsm, by_rows, side, half, op, diagonal, m, n, &one, a, lda, b, ldb);
  } else {
    call_routine<T>(Routine::trsm, by_rows, side, half, op, diagonal, m, n, one, a, lda, b, ldb);
  }
}

// All others give LAPACK's info.

template <class T>
int lapack_potrf(char half, int n, T* a, int lda) {
  int info = 0;
  call_routine<T>(Routine::potrf, static_cast<const char*>(&half), static_cast<const int*>(&n), a,
                  static_cast<const int*>(&lda), &info, one_letter);
  return info;
}

template <class T>
int lapack_getrf(int m, int n, T* a, int lda, int* pivots) {
  int info = 0;
  call_routine<T>(Routine::getrf, static_cast<const int*>(&m), static_cast<const int*>(&n), a,
                  static_cast<const int*>(&lda), pivots, &info);
  return info;
}

/// With -1 for `count` what it would need goes to *work, as with those below.
template <class T>
int lapack_gelqf(int m, int n, T* a, int lda, T* factors, T* work, int count) {
  int info = 0;
  call_routine<T>(Routine::gelqf, static_cast<const int*>(&m), static_cast<const int*>(&n), a,
                  static_cast<const int*>(&lda), factors, work, static_cast<const int*>(&count),
                  &info);
  return info;
}

template <class T>
int lapack_orglq(int m, int n, int k, T* a, int lda, const T* factors, T* work, int count) {
  int info = 0;
  call_routine<T>(Routine::orglq, static_cast<const int*>(&m), static_cast<const int*>(&n),
                  static_cast<const int*>(&k), a, static_cast<const int*>(&lda), factors, work,
                  static_cast<const int*>(&count), &info);
  return info;
}

/// Working memory of a routine: elements, real numbers (of complex routines) and integers.
struct WorkSizes {
  int elements = 1, reals = 1, integers = 1;
};
template <class T>
struct Work {
  T* elements;
  Real<T>* reals;
  int* integers;
  WorkSizes sizes;
};

template <class T>
int lapack_syevd(char what, char half, int n, T* a, int lda, Real<T>* values, const Work<T>& work) {
  int info = 0;
  const int* const counts[] = {&work.sizes.elements, &work.sizes.reals, &work.sizes.integers};
  if constexpr (is_complex<T>) {
    call_routine<T>(Routine::syevd, static_cast<const char*>(&what),
                    static_cast<const char*>(&half), static_cast<const int*>(&n), a,
                    static_cast<const int*>(&lda), values, work.elements, counts[0], work.reals,
                    counts[1], work.integers, counts[2], &info, one_letter, one_letter);
  } else {
    call_routine<T>(Routine::syevd, static_cast<const char*>(&what),
                    static_cast<const char*>(&half), static_cast<const int*>(&n), a,
                    static_cast<const int*>(&lda), values, work.elements, counts[0], work.integers,
                    counts[2], &info, one_letter, one_letter);
  }
  return info;
}

template <class T>
int lapack_gesdd(char what, int m, int n, T* a, int lda, Real<T>* values, T* u, int ldu, T* vh,
                 int ldvh, const Work<T>& work) {
  int info = 0;
  const int* const count = &work.sizes.elements;
  const auto with = [&](auto... more) {
    call_routine<T>(Routine::gesdd, static_cast<const char*>(&what), static_cast<const int*>(&m),
                    static_cast<const int*>(&n), a, static_cast<const int*>(&lda), values, u,
                    static_cast<const int*>(&ldu), vh, static_cast<const int*>(&ldvh),
                    work.elements, count, more..., work.integers, &info, one_letter);
  };
  if constexpr (is_complex<T>) {
    with(work.reals);
  } else {
    with();
  }
  return info;
}

/// Eigenvalues: of real matrices their real parts, then their imaginary ones.
template <class T>
int lapack_geev(char what, int n, T* a, int lda, T* values, T* vectors, int ld,
                const Work<T>& work) {
  int info = 0;
  const char none = 'N';
  const int one = 1;
  const int* const count = &work.sizes.elements;
  if constexpr (is_complex<T>) {
    call_routine<T>(Routine::geev, static_cast<const char*>(&none), static_cast<const char*>(&what),
                    static_cast<const int*>(&n), a, static_cast<const int*>(&lda), values,
                    static_cast<T*>(nullptr), static_cast<const int*>(&one), vectors,
                    static_cast<const int*>(&ld), work.elements, count, work.reals, &info,
                    one_letter, one_letter);
  } else {
    call_routine<T>(Routine::geev, static_cast<const char*>(&none), static_cast<const char*>(&what),
                    static_cast<const int*>(&n), a, static_cast<const int*>(&lda), values,
                    values + n, static_cast<T*>(nullptr), static_cast<const int*>(&one), vectors,
                    static_cast<const int*>(&ld), work.elements, count, &info, one_letter,
                    one_letter);
  }
  return info;
}

// Matrices and their working memory ---------------------------------------------------------------

/// Floats of scratch that hold so many of U.
template <class U>
std::size_t floats_for(std::size_t count) {
  return Scratch::rounded((count * sizeof(U) + sizeof(float) - 1) / sizeof(float));
}
template <class U>
U* take(Scratch& scratch, std::size_t count) {
  return reinterpret_cast<U*>(
      scratch.take((count * sizeof(U) + sizeof(float) - 1) / sizeof(float)));
}

template <class T>
std::size_t floats_for(const WorkSizes& sizes) {
  return floats_for<T>(static_cast<std::size_t>(sizes.elements)) +
         floats_for<Real<T>>(static_cast<std::size_t>(sizes.reals)) +
         floats_for<int>(static_cast<std::size_t>(sizes.integers));
}
template <class T>
Work<T> take_work(Scratch& scratch, const WorkSizes& sizes) {
  T* const elements = take<T>(scratch, static_cast<std::size_t>(sizes.elements));
  auto* const reals = take<Real<T>>(scratch, static_cast<std::size_t>(sizes.reals));
  int* const integers = take<int>(scratch, static_cast<std::size_t>(sizes.integers));
  return {elements, reals, integers, sizes};
}

/// A count of working memory as LAPACK says it: a float may have rounded it down.
template <class T>
int count_of(T said) {
  const double count = static_cast<double>(std::real(said));
  return static_cast<int>(count + count * 1e-6) + 1;
}

/// Sizes that LAPACK counts, whose own are 32 bits wide; `most` is where those of its working
/// memory end.
inline int lapack_size(std::string_view op, std::string_view name, Size size, Size most) {
  if (size > most) {
    throw Unsupported(text(op, ": ", name, " is ", size, ", and LAPACK's 32 bits count up to ",
                           most, " here; work on smaller matrices"));
  }
  return static_cast<int>(size);
}

template <class T>
bool all_finite(const T* x, std::size_t count) {
  // x - x is 0 but for infinity and NaN, whose sums stay NaN.
  T sum{};
  for (std::size_t i = 0; i < count; ++i) sum += x[i] - x[i];
  return sum == T{};
}

/// to[j, i] = from[i, j].
template <class T, class Change>
void transpose_to(const T* from, std::size_t ld_from, T* to, std::size_t ld_to, std::size_t rows,
                  std::size_t columns, Change change) {
  constexpr std::size_t tile = 32;
  for (std::size_t i = 0; i < rows; i += tile) {
    for (std::size_t j = 0; j < columns; j += tile) {
      for (std::size_t y = i; y < std::min(rows, i + tile); ++y) {
        for (std::size_t x = j; x < std::min(columns, j + tile); ++x) {
          to[x * ld_to + y] = change(from[y * ld_from + x]);
        }
      }
    }
  }
}
template <class T>
void transpose_to(const T* from, std::size_t ld_from, T* to, std::size_t ld_to, std::size_t rows,
                  std::size_t columns) {
  transpose_to(from, ld_from, to, ld_to, rows, columns, [](T x) { return x; });
}

/// Calls body(i) for each of the matrices: on all threads where they are many or little work each,
/// else one after another, whose own work threads then share.
template <class Body>
void for_matrices(Size batch, double work_each, Body&& body) {
  constexpr double shared_from = 1 << 24, parallel_from = 1 << 16;
  const auto count = static_cast<std::size_t>(batch);
  const std::size_t threads = thread_count();
  const bool one_by_one = count < threads && work_each > shared_from;
  if (one_by_one || count == 1 || work_each * static_cast<double>(batch) < parallel_from) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const std::size_t pieces = std::min(count, 8 * threads);
  parallel_tasks(pieces, [&](std::size_t piece) {
    const std::size_t end = count * (piece + 1) / pieces;
    for (std::size_t i = count * piece / pieces; i < end; ++i) body(i);
  });
}

}  // namespace tilewright::cpu
