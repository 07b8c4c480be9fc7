#pragma once

#include <algorithm>
#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct QrRequest {
  BufferRange a, q, r;
  Size m, n;
  Size reflections;  ///< the smaller of m and n
  Size columns;      ///< of q, as many as r has rows
  Matrices matrices;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.q, Access::write);
    visit(r.r, Access::write);
  }
};

inline std::optional<QrRequest> checked_qr(const Call& call, Buffer a, Buffer q, Buffer r, Size m,
                                           Size n, Size batch, bool complete, bool is_complex,
                                           DType dtype) {
  QrRequest request;
  request.matrices = {batch, is_complex, dtype};
  call.not_negative("m", m);
  call.not_negative("n", n);
  const MatrixChecks checks(call, request.matrices);
  request.m = m;
  request.n = n;
  request.reflections = std::min(m, n);
  request.columns = complete ? m : request.reflections;
  request.a = checks.elements("a", a, m, n);
  request.q = checks.elements("q", q, m, request.columns);
  request.r = checks.elements("r", r, request.columns, n);
  checks.apart({{"a", request.a}, {"q", request.q}, {"r", request.r}});
  if (request.reflections == 0 || batch == 0) return std::nullopt;
  return request;
}

}  // namespace tilewright
