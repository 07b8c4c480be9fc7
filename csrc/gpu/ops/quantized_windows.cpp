#include <algorithm>
#include <array>
#include <string_view>

#include "core/ops/quantized_matmul.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/gemm.hpp"
#include "gpu/ops/quantized.hpp"
#include "gpu/ops/windows.hpp"

// Products with quantised weights of which one binding does not hold a plane, or x or y: rows of x,
// and rows of weights, at a time.
namespace tilewright::gpu {

namespace {

constexpr std::string_view op = "quantized_matmul";

/// Rows of weights at a time, whose results lie side by side.
Size weights_of_window(const QuantizedMatmulRequest& r, const DeviceLimits& limits) {
  const std::array<Size, 4> row = plane_bytes(r.format, r.k / quant_group);
  const auto lines = [](Size bytes) {
    return Lines{static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(bytes)};
  };
  const Lines results = lines(static_cast<Size>(size_of(r.dtype)));
  const Size rows = lines_of_window(
      limits, r.products(), {lines(row[0]), lines(row[1]), lines(row[2]), lines(row[3]), results});
  if (rows == 0) no_window(op, r.packed.bytes, limits);
  return rows;
}

}  // namespace

void GpuBackend::multiply_quantized_windows(const QuantizedMatmulRequest& r) {
  const DeviceLimits& limits = device_->limits();
  const Size ldx = r.m == 1 ? r.k : r.ldx, ldy = r.m == 1 ? r.n : r.ldy;
  const Size products = r.products(), weights = weights_of_window(r, limits);
  // Rows of weights that belong together meet in their sums, which are kept as those of one row
  // are side by side.
  const bool keeps = r.is_gated && weights < products;
  const auto lines = [&](Size pitch, Size length, DType dtype) {
    return Lines{bytes_of(pitch, dtype), bytes_of(length, dtype)};
  };
  Size rows = lines_of_window(limits, r.m, {lines(ldx, r.k, r.dtype), lines(ldy, r.n, r.dtype)});
  if (keeps) {
    rows = std::min(
        rows, kept_rows(limits, r.m, products, bytes_of(ldx, r.dtype), bytes_of(ldy, r.dtype)));
  }
  if (rows == 0) no_window(op, std::max(r.x.bytes, r.y.bytes), limits);
  for (Size row = 0; row < r.m; row += rows) {
    QuantizedMatmulRequest part = r;
    part.m = std::min(rows, r.m - row);
    part.x = behind(r.x, bytes_of(row * ldx, r.dtype));
    part.y = behind(r.y, bytes_of(row * ldy, r.dtype));
    multiply_quantized_rows(part, weights, keeps, ldx, ldy);
  }
}

void GpuBackend::multiply_quantized_rows(const QuantizedMatmulRequest& r, Size weights, bool keeps,
                                         Size ldx, Size ldy) {
  const Size products = r.products(), groups = r.k / quant_group;
  QuantizedMatmulRequest part = r;
  QuantizedOperands all{{}, window(r.x, 0), window(r.y, 0), ldx, ldy, r.dtype};
  AllocationRef normed, sums;
  if (r.norm.is_asked && weights < products) {
    normed = normed_rows(op, r.norm, r.x, r.m, r.k, ldx, r.dtype);
    all.x = bind(op, normed, bytes_of(r.m * r.k, r.dtype));
    all.ldx = r.k;
    part.norm = {};
  }
  const Binding results = all.y;
  if (keeps) {
    const std::uint64_t bytes = bytes_of(r.m * products, DType::float32);
    sums = memory_->scratch(op, bytes);
    all.y = bind(op, sums, bytes);
    all.ldy = products;
    all.sums = DType::float32;
    part.is_gated = part.adds = false;
    part.activation = Activation::none;
    part.bias = {};
  }
  const Binding y = all.y;
  for (Size first = 0; first < products; first += weights) {
    const Size count = std::min(weights, products - first);
    all.planes =
        bind_planes(r.packed, r.format, products * groups, first * groups, count * groups,
                    [&](const BufferRange& plane) { return bind(op, plane, plane.bytes); });
    all.y = after(y, bytes_of(first, all.sums));
    part.n = part.is_gated ? r.n : count;
    if (part.bias) part.bias = behind(r.bias, bytes_of(first, r.dtype));
    keeps ? multiply_quantized_many(part, all, nullptr) : multiply_quantized(part, all);
  }
  if (!keeps) return;
  GemmRequest joined{};
  joined.m = r.m;
  joined.n = products;
  joined.alpha = 1;
  joined.beta = r.adds ? 1 : 0;
  joined.ldc = ldy;
  joined.batch_count = 1;
  joined.output_dtype = r.dtype;
  const GemmEnd end{r.bias ? bind(op, r.bias, bytes_of(products, r.dtype)) : y, bool{r.bias},
                    r.activation, r.slope, r.n};
  join_products(joined, 1, y, results, &end);
}

}  // namespace tilewright::gpu
