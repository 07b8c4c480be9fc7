#pragma once

#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct LuRequest {
  BufferRange a, factors, permutation, status;
  Size n;
  Matrices matrices;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.factors, Access::write);
    visit(r.permutation, Access::write);
    visit(r.status, Access::write);
  }
};

inline std::optional<LuRequest> checked_lu(const Call& call, Buffer a, Buffer factors,
                                           Buffer permutation, Buffer status, Size n, Size batch,
                                           bool is_complex, DType dtype) {
  LuRequest r;
  r.matrices = {batch, is_complex, dtype};
  call.not_negative("n", n);
  const MatrixChecks checks(call, r.matrices);
  r.a = checks.elements("a", a, n, n);
  r.factors = checks.elements("factors", factors, n, n);
  r.permutation = checks.integers("permutation", permutation, n);
  r.status = checks.integers("status", status, n == 0 ? 0 : 2);
  call.apart_or_same("factors", r.factors, "a", r.a);
  checks.apart({{"a", r.a}, {"permutation", r.permutation}, {"status", r.status}});
  checks.apart({{"factors", r.factors}, {"permutation", r.permutation}, {"status", r.status}});
  r.n = n;
  if (n == 0 || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
