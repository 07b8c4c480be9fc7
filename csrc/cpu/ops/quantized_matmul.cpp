#include "core/ops/quantized_matmul.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/openblas.hpp"
#include "cpu/ops/quantized.hpp"
#include "cpu/ops/row_end.hpp"
#include "cpu/scratch.hpp"

namespace tilewright::cpu {

namespace {

constexpr auto group = static_cast<std::size_t>(quant_group);
/// Rows of x that each row of weights is multiplied by as it is decoded, so many at once.
constexpr std::size_t few = 8, at_once = 4;
/// The block of a larger product: its panels stay in the cache.
constexpr Size block_m = 256, block_n = 128, block_k = 256;

/// Products go to y, whose rows are ldy apart.
template <class T, class Y>
void multiply_few(const QuantizedMatmulRequest& r, Y* y, MemoryPool& pool) {
  const auto m = static_cast<std::size_t>(r.m), k = static_cast<std::size_t>(r.k);
  const auto ldy = static_cast<std::size_t>(r.ldy);
  const PackedWeights from = packed_weights(r.packed, r.format, r.n * (r.k / quant_group));
  const auto multiply = [&](const float* x, std::size_t ldx) {
    parallel_for(static_cast<std::size_t>(r.n), element_grain / k + 1,
                 [&](std::size_t begin, std::size_t end) {
                   float sums[few];
                   for (std::size_t row = begin; row < end; ++row) {
                     for (std::size_t i = 0; i < m; i += at_once) {
                       quantized_table().dot(r.format, from, row * k / group, k / group,
                                             x + i * ldx, ldx, std::min(at_once, m - i), sums + i);
                     }
                     for (std::size_t i = 0; i < m; ++i) {
                       from_float32(sums + i, y + i * ldy + row, 1);
                     }
                   }
                 });
  };
  if constexpr (std::is_same_v<T, float>) {
    multiply(data<T>(r.x), static_cast<std::size_t>(r.ldx));
  } else {
    OpScratch all(pool, "quantized_matmul", Scratch::rounded(m * k));
    Scratch scratch(all);
    float* const x = scratch.take(m * k);
    for (std::size_t i = 0; i < m; ++i) {
      to_float32(data<T>(r.x) + static_cast<Size>(i) * r.ldx, x + i * k, k);
    }
    multiply(x, k);
  }
}

template <class T, class Y>
void multiply_blocks(const QuantizedMatmulRequest& r, Y* y, MemoryPool& pool) {
  const PackedWeights from = packed_weights(r.packed, r.format, r.n * (r.k / quant_group));
  const Size rows = std::min(block_m, r.m), columns = std::min(block_n, r.n);
  const Size depth = std::min(block_k, r.k);
  const auto x_size = static_cast<std::size_t>(rows * depth);
  const auto w_size = static_cast<std::size_t>(columns * depth);
  const auto y_size = static_cast<std::size_t>(rows * columns);
  const Size across = (r.n + columns - 1) / columns;
  const auto tasks = static_cast<std::size_t>((r.m + rows - 1) / rows * across);
  OpScratch all(pool, "quantized_matmul",
                Scratch::rounded(x_size) + Scratch::rounded(w_size) + Scratch::rounded(y_size),
                tasks);
  parallel_tasks(tasks, [&](std::size_t task) {
    Scratch scratch(all);
    float* const x_panel = scratch.take(x_size);
    float* const w_panel = scratch.take(w_size);
    float* const sums = scratch.take(y_size);
    const Size row = static_cast<Size>(task) / across * rows;
    const Size column = static_cast<Size>(task) % across * columns;
    const Size m = std::min(rows, r.m - row), n = std::min(columns, r.n - column);
    for (Size k = 0; k < r.k; k += depth) {
      const Size part = std::min(depth, r.k - k);
      const auto length = static_cast<std::size_t>(part);
      for (Size i = 0; i < m; ++i) {
        to_float32(data<T>(r.x) + (row + i) * r.ldx + k, x_panel + i * part, length);
      }
      for (Size i = 0; i < n; ++i) {
        quantized_table().decode(r.format, from,
                                 static_cast<std::size_t>((column + i) * r.k + k) / group,
                                 length / group, w_panel + i * part);
      }
      multiply(m, n, part, 1, {x_panel, part}, {w_panel, part, true}, k == 0 ? 0.0f : 1.0f, sums,
               n);
    }
    for (Size i = 0; i < m; ++i) {
      from_float32(sums + i * n, y + (row + i) * r.ldy + column, static_cast<std::size_t>(n));
    }
  });
}

template <class T, class Y>
void multiply_rows(const QuantizedMatmulRequest& r, Y* y, MemoryPool& pool) {
  if (static_cast<std::size_t>(r.m) <= few) return multiply_few<T>(r, y, pool);
  multiply_blocks<T>(r, y, pool);
}

/// By way of float32 sums, of a block of rows at a time.
template <class T>
void multiply_and_end(const QuantizedMatmulRequest& r, MemoryPool& pool) {
  constexpr std::string_view op = "quantized_matmul";
  const Size products = r.products(), rows = std::min(block_m, r.m);
  const auto biases = static_cast<std::size_t>(r.bias ? products : 0);
  const AllocationRef kept =
      pool.scratch(op, static_cast<std::uint64_t>(rows * products) * sizeof(float));
  OpScratch all(pool, op, Scratch::rounded(biases));
  Scratch scratch(all);
  float* const bias = r.bias ? scratch.take(biases) : nullptr;
  if (r.bias) to_float32(data<T>(r.bias), bias, biases);
  const RowEnd end{bias, r.activation, r.slope, r.is_gated};
  float* const sums = data<float>(BufferRange(kept));
  const auto n = static_cast<std::size_t>(r.n);
  for (Size row = 0; row < r.m; row += rows) {
    QuantizedMatmulRequest part = r;
    part.m = std::min(rows, r.m - row);
    part.n = part.ldy = products;
    part.x.offset += static_cast<std::uint64_t>(row * r.ldx) * sizeof(T);
    multiply_rows<T>(part, sums, pool);
    const auto grain = element_grain / static_cast<std::size_t>(products) + 1;
    parallel_for(static_cast<std::size_t>(part.m), grain, [&](std::size_t begin, std::size_t past) {
      for (std::size_t i = begin; i < past; ++i) {
        const auto at = static_cast<Size>(i);
        float* const of_row = sums + at * products;
        end.apply(of_row, n);
        store_row(of_row, data<T>(r.y) + (row + at) * r.ldy, n, r.adds);
      }
    });
  }
}

}  // namespace

void CpuBackend::do_quantized_matmul(const QuantizedMatmulRequest& r) {
  QuantizedMatmulRequest normed = r;
  if (r.norm.is_asked) {
    NormRequest norm{};
    norm.x = r.x;
    norm.weight = r.norm.weight;
    norm.out = memory_->scratch("quantized_matmul",
                                static_cast<std::uint64_t>(r.m * r.k) * size_of(r.dtype));
    norm.rows = r.m;
    norm.cols = r.k;
    norm.ldx = r.ldx;
    norm.eps = r.norm.eps;
    norm.dtype = r.dtype;
    CpuBackend::do_rmsnorm(norm);
    normed.x = norm.out;
    normed.ldx = r.k;
  }
  with_element_type(r.dtype, [&]<class T>(T) {
    if (r.ends() || r.adds) return multiply_and_end<T>(normed, *memory_);
    multiply_rows<T>(normed, data<T>(r.y), *memory_);
  });
}

}  // namespace tilewright::cpu
