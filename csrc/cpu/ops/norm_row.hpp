#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/requests.hpp"
#include "cpu/chunks.hpp"
#include "cpu/elements.hpp"
#include "cpu/memory.hpp"

namespace tilewright::cpu {

/// What one row of a norm is taken with: (x - centre - offset) * factor * weight + bias. The mean
/// is in two parts, so that it keeps its digits where it is large against the deviations.
struct RowScale {
  float centre, offset, factor;
};

/// Of a row off its mean and over its deviation.
template <class T>
RowScale centred_scale(const T* x, std::size_t n, double eps) {
  const ElementKernels<T>& k = kernels_for<T>();
  const auto count = static_cast<double>(n);
  const double sum = join_chunks(
      n, [&](std::size_t begin, std::size_t length) { return k.sum(x + begin, length); },
      [](double a, double b) { return a + b; });
  // What the first mean is off by shows in the deviations from it, also where it is large.
  const auto centre = static_cast<float>(sum / count);
  const Deviations d = join_chunks(
      n,
      [&](std::size_t begin, std::size_t length) {
        return k.deviations(x + begin, length, centre);
      },
      [](const Deviations& a, const Deviations& b) {
        return Deviations{a.sum + b.sum, a.squares + b.squares};
      });
  const double offset = d.sum / count;
  const double variance = d.squares / count - offset * offset;
  return {centre, static_cast<float>(offset), static_cast<float>(1 / std::sqrt(variance + eps))};
}

/// Normalises each row by scale_of(row, n, eps), which is off its mean where it is `centred`.
template <bool centred, class ScaleOf>
void normalize_rows(const NormRequest& r, ScaleOf&& scale_of) {
  with_element_type(r.dtype, [&]<class T>(T) {
    constexpr std::size_t worth_streaming = 256;
    const auto rows = static_cast<std::size_t>(r.rows);
    const auto cols = static_cast<std::size_t>(r.cols);
    const T* weight = r.weight ? data<T>(r.weight) : nullptr;
    const T* bias = r.bias ? data<T>(r.bias) : nullptr;
    // Where nobody wants the sums they are kept where the results go.
    const BufferRange& sums = r.sum ? r.sum : r.out;
    const BufferRange& source = r.residual ? sums : r.x;
    const std::size_t apart = r.residual ? cols : static_cast<std::size_t>(r.ldx);
    if (cols < worth_streaming) {
      // As many rows at a time as stay in the nearest cache, where they lie side by side.
      const std::size_t at_once = apart == cols ? worth_streaming * 8 / cols : 1;
      return parallel_for(rows, element_grain / cols + 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin, n = 0; row < end; row += n) {
          n = std::min(at_once, end - row);
          const std::size_t first = row * cols;
          if (r.residual) {
            kernels_for<T>().binary(BinaryOp::add, {data<T>(r.x) + first, false},
                                    {data<T>(r.residual) + first, false}, data<T>(sums) + first,
                                    n * cols, Store::cached);
          }
          kernels_for<T>().normalize_rows(data<T>(source) + row * apart, n, cols, r.eps, centred,
                                          weight, bias, data<T>(r.out) + first);
        }
      });
    }
    const Store how = store_for(rows * cols * sizeof(T), source == r.out);
    for_rows(rows, cols, [&](std::size_t row) {
      const T* x = data<T>(source) + row * apart;
      T* out = data<T>(r.out) + row * cols;
      if (r.residual) {
        const T* added = data<T>(r.x) + row * cols;
        const T* to = data<T>(r.residual) + row * cols;
        T* sum = data<T>(sums) + row * cols;
        for_chunks(cols, [&](std::size_t begin, std::size_t length) {
          kernels_for<T>().binary(BinaryOp::add, {added + begin, false}, {to + begin, false},
                                  sum + begin, length, Store::cached);
        });
      }
      const RowScale scale = scale_of(x, cols, static_cast<double>(r.eps));
      for_chunks(cols, [&](std::size_t begin, std::size_t length) {
        kernels_for<T>().normalize(x + begin, length, scale.centre, scale.offset, scale.factor,
                                   weight ? weight + begin : nullptr, bias ? bias + begin : nullptr,
                                   out + begin, how);
      });
    });
  });
}

}  // namespace tilewright::cpu
