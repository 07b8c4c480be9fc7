#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// The routines that there are for float, double and complex numbers of both, in this order.
enum class Routine : std::size_t { gemm, trsm, potrf, getrf, gelqf, orglq, syevd, gesdd, geev };
inline constexpr std::size_t routine_count = 9;

/// What this backend calls of OpenBLAS. The library is opened once per process, privately, and runs
/// each call on the calling thread alone.
struct OpenBlas {
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  using Function = void (*)();
  std::array<std::array<Function, routine_count>, 4> routines;
  std::string core;  ///< the processor model whose kernels it chose
};

/// Throws BackendUnavailable where the library is missing or not the one expected.
const OpenBlas& openblas();

/// A row-major matrix as it is stored, and whether it is meant transposed.
struct Matrix {
  const float* data;
  Size ld;
  bool transposed = false;

  /// The part that starts at this row and column (of the matrix as it is meant).
  Matrix from(Size row, Size column) const {
    return {data + (transposed ? column * ld + row : row * ld + column), ld, transposed};
  }
};

/// C = alpha * A * B + beta * C on the calling thread. m, n and k positive and below 2^31, leading
/// dimensions too.
void multiply(Size m, Size n, Size k, float alpha, const Matrix& a, const Matrix& b, float beta,
              float* c, Size ldc);

}  // namespace tilewright::cpu
