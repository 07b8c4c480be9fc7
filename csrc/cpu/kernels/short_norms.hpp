#pragma once

#include "cpu/kernels/fold_rows.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// The sum of value() over the n elements of x, lane by lane; value(fill) is 0.
template <class T, class Value>
static inline Floats sum_lanes(const T* x, std::size_t n, float fill, Value value) {
  Floats even{}, odd{};
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even += value(load(x + i));
    odd += value(load(x + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) even += value(load(x + i));
  if (i < n) odd += value(load(x + i, n - i, fill));
  return even + odd;
}

/// Four rows at a time, whose sums are joined side by side; the last one stands for those that
/// there are not.
template <class T>
static void normalize_rows(const T* x, std::size_t rows, std::size_t n, float eps, bool centred,
                           const T* weight, const T* bias, T* output) {
  const auto count = static_cast<float>(n);
  for (std::size_t first = 0; first < rows; first += 4) {
    const std::size_t now = rows - first < 4 ? rows - first : 4;
    const T* row[4];
    for (std::size_t i = 0; i < 4; ++i) row[i] = x + (first + (i < now ? i : now - 1)) * n;
    float centre[4] = {}, offset[4] = {}, squares[4];
    Floats parts[4], off[4];
    if (centred) {
      for (std::size_t i = 0; i < 4; ++i) {
        parts[i] = sum_lanes(row[i], n, 0, [](Floats value) { return value; });
      }
      join_four<JoinSum>(parts, centre);
      for (std::size_t i = 0; i < 4; ++i) centre[i] /= count;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const float middle = centre[i];
      parts[i] = sum_lanes(row[i], n, middle, [=](Floats value) {
        const Floats d = value - middle;
        return d * d;
      });
      if (centred) {
        off[i] = sum_lanes(row[i], n, middle, [=](Floats value) { return value - middle; });
      }
    }
    join_four<JoinSum>(parts, squares);
    if (centred) join_four<JoinSum>(off, offset);
    for (std::size_t i = 0; i < now; ++i) {
      // What the mean is off by shows in the deviations from it.
      const float off_mean = offset[i] / count;
      const float variance = squares[i] / count - off_mean * off_mean;
      normalize(row[i], n, centre[i], off_mean, 1 / __builtin_sqrtf(variance + eps), weight, bias,
                output + (first + i) * n, Store::cached);
    }
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
