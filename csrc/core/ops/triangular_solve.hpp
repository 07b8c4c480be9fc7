#pragma once

#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct TriangularSolveRequest {
  BufferRange a, b, x;
  Size n, columns;
  Matrices matrices;
  bool upper;
  Transpose trans;
  bool unit, right;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.b, Access::read);
    visit(r.x, Access::write);
  }
};

inline std::optional<TriangularSolveRequest> checked_triangular_solve(
    const Call& call, Buffer a, Buffer b, Buffer x, Size n, Size columns, Size batch, bool upper,
    Transpose trans, bool unit, bool right, bool is_complex, DType dtype) {
  TriangularSolveRequest r;
  r.matrices = {batch, is_complex, dtype};
  call.not_negative("n", n);
  call.not_negative("columns", columns);
  call.known("trans", trans);
  const MatrixChecks checks(call, r.matrices);
  r.a = checks.elements("a", a, n, n);
  r.b = checks.elements("b", b, n, columns);
  r.x = checks.elements("x", x, n, columns);
  call.apart_or_same("x", r.x, "b", r.b);
  checks.apart({{"a", r.a}, {"x", r.x}});
  r.n = n;
  r.columns = columns;
  r.upper = upper;
  r.trans = trans;
  r.unit = unit;
  r.right = right;
  if (n == 0 || columns == 0 || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
