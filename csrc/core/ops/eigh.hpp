#pragma once

#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct EighRequest {
  BufferRange a, values, vectors, status;  ///< vectors is null where none are asked for
  Size n;
  Matrices matrices;
  bool upper;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.values, Access::write);
    visit(r.vectors, Access::write);
    visit(r.status, Access::write);
  }
};

inline std::optional<EighRequest> checked_eigh(const Call& call, Buffer a, Buffer values,
                                               Buffer vectors, Buffer status, Size n, Size batch,
                                               bool upper, bool with_vectors, bool is_complex,
                                               DType dtype) {
  EighRequest r;
  r.matrices = {batch, is_complex, dtype};
  call.not_negative("n", n);
  const MatrixChecks checks(call, r.matrices);
  r.a = checks.elements("a", a, n, n);
  r.values = checks.reals("values", values, n);
  r.vectors = checks.elements("vectors", vectors, with_vectors ? n : 0, n);
  r.status = checks.integers("status", status, n == 0 ? 0 : 1);
  checks.apart({{"a", r.a}, {"values", r.values}, {"vectors", r.vectors}, {"status", r.status}});
  if (!with_vectors) r.vectors = {};
  r.n = n;
  r.upper = upper;
  if (n == 0 || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
