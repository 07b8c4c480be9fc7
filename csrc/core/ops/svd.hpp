#pragma once

#include <algorithm>
#include <optional>

#include "core/matrices.hpp"
#include "core/requests.hpp"

namespace tilewright {

struct SvdRequest {
  BufferRange a, u, values, vh, status;  ///< u and vh are null where none are asked for
  Size m, n;
  Size count;  ///< of singular values
  Size u_columns, vh_rows;
  Matrices matrices;

  static void operands(auto& r, const auto& visit) {
    visit(r.a, Access::read);
    visit(r.u, Access::write);
    visit(r.values, Access::write);
    visit(r.vh, Access::write);
    visit(r.status, Access::write);
  }
};

inline std::optional<SvdRequest> checked_svd(const Call& call, Buffer a, Buffer u, Buffer values,
                                             Buffer vh, Buffer status, Size m, Size n, Size batch,
                                             bool full, bool with_vectors, bool is_complex,
                                             DType dtype) {
  SvdRequest r;
  r.matrices = {batch, is_complex, dtype};
  call.not_negative("m", m);
  call.not_negative("n", n);
  const MatrixChecks checks(call, r.matrices);
  r.m = m;
  r.n = n;
  r.count = std::min(m, n);
  r.u_columns = full ? m : r.count;
  r.vh_rows = full ? n : r.count;
  const bool nothing = r.count == 0;
  r.a = checks.elements("a", a, m, n);
  r.u = checks.elements("u", u, with_vectors && !nothing ? m : 0, r.u_columns);
  r.values = checks.reals("values", values, r.count);
  r.vh = checks.elements("vh", vh, with_vectors && !nothing ? r.vh_rows : 0, n);
  r.status = checks.integers("status", status, nothing ? 0 : 1);
  checks.apart({{"a", r.a}, {"u", r.u}, {"values", r.values}, {"vh", r.vh}, {"status", r.status}});
  if (!with_vectors) r.u = r.vh = {};
  if (nothing || batch == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
