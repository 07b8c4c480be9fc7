#include "core/ops/linear.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cpu/backend.hpp"
#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/row_end.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Sums that are kept until they are written, which stay in the cache, and the rows that a product
/// has at least.
constexpr Size most_kept = 1 << 19, least_rows = 256;

}  // namespace

void CpuBackend::do_linear(const LinearRequest& r) {
  const Size products = r.products();
  const bool is_half = r.dtype == DType::float16;
  // float32 sums are written where the result is, but those that are gated, or bent before they are
  // added to what is there.
  const bool in_place = !is_half && !r.is_gated && (!r.adds || r.activation == Activation::none);
  const Size rows = std::clamp<Size>(most_kept / products, std::min(least_rows, r.m), r.m);
  const auto part = [&](const BufferRange& whole, Size row, Size ld) {
    const std::uint64_t skipped = static_cast<std::uint64_t>(row * ld) * size_of(r.dtype);
    return BufferRange(whole.allocation, whole.offset + skipped, whole.bytes - skipped);
  };
  BufferRange kept;
  if (!in_place) {
    kept = memory_->scratch("linear", static_cast<std::uint64_t>(rows * products) * sizeof(float));
  }
  const auto biases = static_cast<std::size_t>(r.bias && is_half ? products : 0);
  OpScratch all(*memory_, "linear", Scratch::rounded(biases));
  Scratch scratch(all);
  const float* bias = nullptr;
  if (r.bias && is_half) {
    float* const wide = scratch.take(biases);
    to_float32(data<Half>(r.bias), wide, biases);
    bias = wide;
  } else if (r.bias) {
    bias = data<float>(r.bias);
  }
  const RowEnd end{bias, r.activation, r.slope, r.is_gated};
  const Size ld = in_place ? r.ldo : products;
  NormRequest norm{};
  if (r.norm.is_asked) {
    norm.out =
        memory_->scratch("linear", static_cast<std::uint64_t>(rows * r.k) * size_of(r.dtype));
    norm.weight = r.norm.weight;
    norm.cols = r.k;
    norm.ldx = r.ldx;
    norm.eps = r.norm.eps;
    norm.dtype = r.dtype;
  }
  for (Size row = 0; row < r.m; row += rows) {
    const Size count = std::min(rows, r.m - row);
    const BufferRange c = in_place ? part(r.out, row, r.ldo) : kept;
    BufferRange x = part(r.x, row, r.ldx);
    if (r.norm.is_asked) {
      norm.x = x;
      norm.rows = count;
      CpuBackend::do_rmsnorm(norm);
      x = norm.out;
    }
    CpuBackend::do_gemm({"linear",
                         false,
                         r.trans_weights,
                         count,
                         products,
                         r.k,
                         1,
                         x,
                         r.norm.is_asked ? r.k : r.ldx,
                         r.weights,
                         r.ldw,
                         in_place && r.adds ? 1.0f : 0.0f,
                         c,
                         ld,
                         0,
                         0,
                         0,
                         1,
                         r.dtype,
                         DType::float32,
                         std::nullopt});
    if (in_place && bias == nullptr && r.activation == Activation::none) continue;
    const auto grain = element_grain / static_cast<std::size_t>(products) + 1;
    parallel_for(static_cast<std::size_t>(count), grain, [&](std::size_t begin, std::size_t past) {
      for (std::size_t i = begin; i < past; ++i) {
        float* const sums = data<float>(c) + static_cast<Size>(i) * ld;
        end.apply(sums, static_cast<std::size_t>(r.n));
        if (in_place) continue;
        const Size at = (row + static_cast<Size>(i)) * r.ldo;
        with_element_type(r.dtype, [&]<class T>(T) {
          store_row(sums, data<T>(r.out) + at, static_cast<std::size_t>(r.n), r.adds);
        });
      }
    });
  }
}

}  // namespace tilewright::cpu
