#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/checked_rows.hpp"
#include "core/requests.hpp"
#include "core/row_norm.hpp"
#include "core/text.hpp"

namespace tilewright {

struct LinearRequest {
  bool trans_weights;
  Size m, n, k;  ///< weights has n results, or with is_gated twice as many
  BufferRange x;
  Size ldx;
  BufferRange weights;
  Size ldw;
  BufferRange bias;  ///< may be null
  BufferRange out;
  Size ldo;
  Activation activation;
  float slope;  ///< 0 but for leaky_relu
  bool is_gated;
  DType dtype;
  RowNorm norm;  ///< of x
  bool adds;     ///< to what out has

  /// Columns of the product.
  Size products() const { return is_gated ? 2 * n : n; }

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.weights, Access::read);
    visit(r.bias, Access::read);
    visit(r.norm.weight, Access::read);
    // What lies between the rows stays.
    visit(r.out, r.adds || (r.m > 1 && r.ldo > r.n) ? Access::update : Access::write);
  }
  static void values(const LinearRequest& r, const auto& visit) {
    visit(packed(r.trans_weights, r.is_gated, r.activation, r.dtype, r.norm.is_asked, r.adds));
    visit(r.norm.eps);
    for (const Size size : {r.m, r.n, r.k, r.ldx, r.ldw, r.ldo}) visit(size);
    visit(r.slope);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.linear(Transpose::transpose, 1, 8, 8, q.x[0], 8, q.x[1], 8, q.x[2], 8, std::nullopt,
              q.kind_or(Activation::none), 0.01, false, q.dtype);
  }
};

inline std::optional<LinearRequest> checked_linear(const Call& call, Transpose trans_weights,
                                                   Size m, Size n, Size k, Buffer x, Size ldx,
                                                   Buffer weights, Size ldw, Buffer out, Size ldo,
                                                   std::optional<Buffer> bias,
                                                   Activation activation, double slope, bool gated,
                                                   DType dtype, std::optional<double> norm_eps,
                                                   std::optional<Buffer> norm_weight, bool add) {
  call.known("trans_weights", trans_weights);
  call.known("activation", activation);
  call.not_negative("m", m);
  call.not_negative("n", n);
  call.positive("k", k);
  call.float_dtype(dtype);
  call.finite("slope", slope);
  LinearRequest r;
  const auto matrix = [&](std::string_view name, Buffer handle, Size rows, Size cols,
                          std::string_view ld_name, Size ld, std::string_view least) {
    return checked_rows(call, name, handle, rows, cols, ld_name, ld, least, dtype);
  };
  const Size products = gated ? call.mul(n, 2) : n;
  r.x = matrix("x", x, m, k, "ldx", ldx, "k");
  const std::string_view of_weight = gated ? "2 * n" : "n";
  r.weights = trans_weights != Transpose::none
                  ? matrix("weights", weights, products, k, "ldw", ldw, "k")
                  : matrix("weights", weights, k, products, "ldw", ldw, of_weight);
  r.out = matrix("out", out, m, n, "ldo", ldo, "n");
  if (bias) {
    r.bias = call.buffer("bias", *bias, products, dtype);
    call.apart("out", r.out, "bias", r.bias);
  }
  r.norm = checked_norm(call, norm_eps, norm_weight, k, dtype);
  call.apart("out", r.out, "norm_weight", r.norm.weight);
  call.apart("out", r.out, "x", r.x);
  call.apart("out", r.out, "weights", r.weights);
  r.trans_weights = trans_weights != Transpose::none;
  r.m = m;
  r.n = n;
  r.k = k;
  r.ldx = ldx;
  r.ldw = ldw;
  r.ldo = ldo;
  r.activation = activation;
  r.slope = activation == Activation::leaky_relu ? static_cast<float>(slope) : 0;
  r.is_gated = gated;
  r.dtype = dtype;
  r.adds = add;
  if (m == 0 || n == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
