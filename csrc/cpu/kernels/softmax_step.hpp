#pragma once

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/math.hpp"
#include "cpu/kernels/rows.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

/// 2^x for x <= 0, to 3e-7 of it; 0 below 2^-125.
static inline Floats exp2_negative(Floats x) {
  const Floats shifted = x + to_whole;  // the exponent in its lowest bits
  const Floats f = x - (shifted - to_whole);
  Floats p = f * 0.0013264726f + 0.009671513f;
  p = p * f + 0.055507336f;
  p = p * f + 0.24022242f;
  p = p * f + 0.693147f;
  p = p * f + 1;
  return x < -125 ? Floats{} : (Floats)((Ints)p + ((Ints)shifted << 23));
}

static float softmax_step(float* scores, std::size_t n, float factor, float& maximum) {
  Floats largest = splat(-infinity), second = largest;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    largest = larger(load(scores + i), largest);
    second = larger(load(scores + i + lanes), second);
  }
  if (i + lanes <= n) {
    largest = larger(load(scores + i), largest);
    i += lanes;
  }
  if (i < n) second = larger(load(scores + i, n - i, -infinity), second);
  float parts[lanes];
  store(parts, larger(largest, second));
  for (std::size_t width = lanes / 2; width != 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) {
      parts[j] = parts[j] > parts[j + width] ? parts[j] : parts[j + width];
    }
  }
  if (parts[0] > maximum) maximum = parts[0];

  // Where every score so far is -infinity they count 0. The difference comes before the product:
  // it is exact where it matters, however large the scores are.
  const float shift = maximum == -infinity ? 0 : maximum;
  Floats sum{}, sum2{};
  for (i = 0; i + 2 * lanes <= n; i += 2 * lanes) {
    const Floats e = exp2_negative((load(scores + i) - shift) * factor);
    const Floats e2 = exp2_negative((load(scores + i + lanes) - shift) * factor);
    store(scores + i, e);
    store(scores + i + lanes, e2);
    sum += e;
    sum2 += e2;
  }
  if (i + lanes <= n) {
    const Floats e = exp2_negative((load(scores + i) - shift) * factor);
    store(scores + i, e);
    sum += e;
    i += lanes;
  }
  if (i < n) {
    const Floats e = exp2_negative((load(scores + i, n - i, -infinity) - shift) * factor);
    store(scores + i, e, n - i);
    sum2 += e;
  }
  return sum_of_lanes(sum + sum2);
}

static void softmax_columns(float* scores, std::size_t count, std::size_t stride,
                            std::size_t columns, float* maxima, float* sums, float* factors) {
  for (std::size_t j = 0; j < columns; j += lanes) {
    float* const column = scores + j;
    const Floats before = load(maxima + j);
    Floats largest = before, second = before;
    std::size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      largest = larger(load(column + i * stride), largest);
      second = larger(load(column + (i + 1) * stride), second);
    }
    if (i < count) largest = larger(load(column + i * stride), largest);
    largest = larger(largest, second);
    store(maxima + j, largest);

    // Where every score so far is -infinity they count 0.
    const Floats shift = largest == -infinity ? Floats{} : largest;
    const Floats factor = largest == before ? splat(1) : exp2_negative(before - shift);
    Floats sum = load(sums + j) * factor, odd_sum{};
    for (i = 0; i + 2 <= count; i += 2) {
      float* const even = column + i * stride;
      const Floats a = exp2_negative(load(even) - shift);
      const Floats b = exp2_negative(load(even + stride) - shift);
      store(even, a);
      store(even + stride, b);
      sum += a;
      odd_sum += b;
    }
    if (i < count) {
      const Floats last = exp2_negative(load(column + i * stride) - shift);
      store(column + i * stride, last);
      sum += last;
    }
    store(sums + j, sum + odd_sum);
    store(factors + j, factor);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
