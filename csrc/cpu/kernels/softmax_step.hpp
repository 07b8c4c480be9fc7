#pragma once

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/math.hpp"
#include "cpu/kernels/rows.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

static inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

static float softmax_step(float* scores, std::size_t n, float scale, float& maximum) {
  Floats largest = splat(-infinity);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) largest = larger(load(scores + i), largest);
  if (i < n) largest = larger(load(scores + i, n - i, -infinity), largest);
  float parts[lanes];
  store(parts, largest);
  float highest = maximum;
  for (float part : parts) highest = part * scale > highest ? part * scale : highest;
  maximum = highest;

  // Where every score so far is -infinity they count 0.
  const float shift = highest == -infinity ? 0 : highest;
  Floats sum{};
  for (i = 0; i + lanes <= n; i += lanes) {
    const Floats e = exp(load(scores + i) * scale - shift);
    store(scores + i, e);
    sum += e;
  }
  if (i < n) {
    const Floats e = exp(load(scores + i, n - i, -infinity) * scale - shift);
    store(scores + i, e, n - i);
    sum += e;
  }
  return sum_of_lanes(sum);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
