#pragma once

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/math.hpp"
#include "cpu/kernels/rows.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

/// 2^(x - less), to 3e-7 of it and exact for whole x: 0 where x is -infinity, much where x is
/// large, NaN where x is.
template <int less = 0>
static inline Floats exp2(Floats x) {
  constexpr float unit = 1.0f / (1 << less);
#if defined(__AVX512F__)
  const Floats f = (Floats)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF);
  Floats p = f * (unit * 0.0018670352f) + unit * 0.00901723f;
  p = p * f + unit * 0.05579977f;
  p = p * f + unit * 0.24016449f;
  p = p * f + unit * 0.6931513f;
  p = p * f + unit;
  return (Floats)_mm512_scalef_ps((__m512)p, (__m512)x);  // by the whole part of x
#else
  const Floats limited = at_most(x, 100);
  const Floats shifted = limited + to_whole;  // the exponent in its lowest bits
  const Floats f = limited - (shifted - to_whole);
  Floats p = f * (unit * 0.0013264726f) + unit * 0.009671513f;
  p = p * f + unit * 0.055507336f;
  p = p * f + unit * 0.24022242f;
  p = p * f + unit * 0.693147f;
  p = p * f + unit;
  return x < static_cast<float>(less - 125) ? Floats{} : (Floats)((Ints)p + ((Ints)shifted << 23));
#endif
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
    const Floats e = exp2((load(scores + i) - shift) * factor);
    const Floats e2 = exp2((load(scores + i + lanes) - shift) * factor);
    store(scores + i, e);
    store(scores + i + lanes, e2);
    sum += e;
    sum2 += e2;
  }
  if (i + lanes <= n) {
    const Floats e = exp2((load(scores + i) - shift) * factor);
    store(scores + i, e);
    sum += e;
    i += lanes;
  }
  if (i < n) {
    const Floats e = exp2((load(scores + i, n - i, -infinity) - shift) * factor);
    store(scores + i, e, n - i);
    sum2 += e;
  }
  return sum_of_lanes(sum + sum2);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
