#include "core/ops/quantized_matmul.hpp"

#include <algorithm>
#include <type_traits>

#include "cpu/convert.hpp"
#include "cpu/elements.hpp"
#include "cpu/openblas.hpp"
#include "cpu/quantized.hpp"
#include "cpu/scratch.hpp"

namespace tilewright::cpu {

namespace {

constexpr auto group = static_cast<std::size_t>(quant_group);
/// Rows of x that each row of weights is multiplied by as it is decoded, so many at once.
constexpr std::size_t few = 8, at_once = 4;
/// The block of a larger product: its panels stay in the cache.
constexpr Size block_m = 256, block_n = 128, block_k = 256;

template <class T>
void multiply_few(const QuantizedMatmulRequest& r, MemoryPool& pool) {
  const auto m = static_cast<std::size_t>(r.m), k = static_cast<std::size_t>(r.k);
  const auto ldy = static_cast<std::size_t>(r.ldy);
  const PackedWeights from = packed_weights(r.packed, r.format, r.n * (r.k / quant_group));
  T* const y = data<T>(r.y);
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

template <class T>
void multiply_blocks(const QuantizedMatmulRequest& r, MemoryPool& pool) {
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
      from_float32(sums + i * n, data<T>(r.y) + (row + i) * r.ldy + column,
                   static_cast<std::size_t>(n));
    }
  });
}

}  // namespace

void CpuBackend::do_quantized_matmul(const QuantizedMatmulRequest& r) {
  with_element_type(r.dtype, [&]<class T>(T) {
    if (static_cast<std::size_t>(r.m) <= few) return multiply_few<T>(r, *memory_);
    multiply_blocks<T>(r, *memory_);
  });
}

}  // namespace tilewright::cpu
