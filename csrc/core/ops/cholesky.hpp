#pragma once

#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct CholeskyRequest {
  BufferRange a, factor, status;
  Size n;
  Matrices matrices;
  bool upper;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.factor, Access::write);
    visit(r.status, Access::write);
  }
};

inline std::optional<CholeskyRequest> checked_cholesky(const Call& call, Buffer a, Buffer factor,
                                                       Buffer status, Size n, Size batch,
                                                       bool upper, bool is_complex, DType dtype) {
  CholeskyRequest r;
  r.matrices = {batch, is_complex, dtype};
  call.not_negative("n", n);
  const MatrixChecks checks(call, r.matrices);
  r.a = checks.elements("a", a, n, n);
  r.factor = checks.elements("factor", factor, n, n);
  r.status = checks.integers("status", status, n == 0 ? 0 : 1);
  call.apart_or_same("factor", r.factor, "a", r.a);
  checks.apart({{"a", r.a}, {"status", r.status}});
  checks.apart({{"factor", r.factor}, {"status", r.status}});
  r.n = n;
  r.upper = upper;
  if (n == 0 || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
