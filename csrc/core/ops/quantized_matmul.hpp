#pragma once

#include <optional>

#include "core/call.hpp"
#include "core/checked_rows.hpp"
#include "core/quantized.hpp"
#include "core/requests.hpp"
#include "core/row_norm.hpp"

namespace tilewright {

struct QuantizedMatmulRequest {
  BufferRange x, packed, y;
  QuantFormat format;
  Size m, n, k, ldx, ldy;  ///< packed has n rows, or with is_gated twice as many
  DType dtype;
  BufferRange bias;  ///< may be null
  Activation activation = Activation::none;
  float slope = 0;  ///< 0 but for leaky_relu
  bool is_gated = false;
  RowNorm norm;       ///< of x
  bool adds = false;  ///< to what y has

  /// Columns of the product.
  Size products() const { return is_gated ? 2 * n : n; }
  /// Whether sums are not the results, or what is added to them.
  bool ends() const { return bias || activation != Activation::none || is_gated; }

  static void operands(auto& r, const auto& visit) {
    visit(r.x, Access::read);
    visit(r.packed, Access::read);
    visit(r.bias, Access::read);
    visit(r.norm.weight, Access::read);
    // What lies between the rows stays.
    visit(r.y, r.adds || (r.m > 1 && r.ldy > r.n) ? Access::update : Access::write);
  }
  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    be.quantized_matmul(q.x[0], q.x[1], q.x[2], q.kind_or(QuantFormat::q8_0), 1, 8, 256, 256, 8,
                        q.dtype);
  }
};

inline std::optional<QuantizedMatmulRequest> checked_quantized_matmul(
    const Call& call, Buffer x, Buffer packed, Buffer y, QuantFormat format, Size m, Size n, Size k,
    Size ldx, Size ldy, DType dtype, std::optional<Buffer> bias, Activation activation,
    double slope, bool gated, std::optional<double> norm_eps, std::optional<Buffer> norm_weight,
    bool add) {
  call.known("format", format);
  call.known("activation", activation);
  call.not_negative("m", m);
  call.not_negative("n", n);
  call.positive("k", k);
  call.float_dtype(dtype);
  call.finite("slope", slope);
  QuantizedMatmulRequest r;
  const auto matrix = [&](std::string_view name, Buffer handle, Size rows, Size cols,
                          std::string_view ld_name, Size ld, std::string_view least) {
    return checked_rows(call, name, handle, rows, cols, ld_name, ld, least, dtype);
  };
  r.x = matrix("x", x, m, k, "ldx", ldx, "k");
  const Size products = gated ? call.mul(n, 2) : n;
  r.packed = checked_planes(call, packed, format, products, "k", k);
  r.y = matrix("y", y, m, n, "ldy", ldy, "n");
  call.apart("y", r.y, "x", r.x);
  call.apart("y", r.y, "packed", r.packed);
  if (bias) {
    r.bias = call.buffer("bias", *bias, products, dtype);
    call.apart("y", r.y, "bias", r.bias);
  }
  r.norm = checked_norm(call, norm_eps, norm_weight, k, dtype);
  call.apart("y", r.y, "norm_weight", r.norm.weight);
  r.format = format;
  r.m = m;
  r.n = n;
  r.k = k;
  r.ldx = ldx;
  r.ldy = ldy;
  r.dtype = dtype;
  r.activation = activation;
  r.slope = activation == Activation::leaky_relu ? static_cast<float>(slope) : 0;
  r.is_gated = gated;
  r.adds = add;
  if (m == 0 || n == 0) return std::nullopt;
  return r;
}

}  // namespace tilewright
