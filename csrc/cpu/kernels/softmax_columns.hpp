#pragma once

#include "cpu/kernels/softmax_step.hpp"
#include "cpu/kernels/tap_product.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Weights are this power of two less, so that scores may grow by as much before one exceeds 1.
constexpr int headroom = 16;

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
    const Floats factor = largest == before ? splat(1) : exp2(before - shift);
    Floats sum = load(sums + j) * factor, odd_sum{};
    for (i = 0; i + 2 <= count; i += 2) {
      float* const even = column + i * stride;
      const Floats a = exp2<headroom>(load(even) - shift);
      const Floats b = exp2<headroom>(load(even + stride) - shift);
      store(even, a);
      store(even + stride, b);
      sum += a;
      odd_sum += b;
    }
    if (i < count) {
      const Floats last = exp2<headroom>(load(column + i * stride) - shift);
      store(column + i * stride, last);
      sum += last;
    }
    store(sums + j, sum + odd_sum);
    store(factors + j, factor);
  }
}

/// Stores what the sums of a tile weigh, and adds it up by columns.
struct StoreWeights {
  const float* maxima;
  float* added;

  template <std::size_t filters, std::size_t vectors>
  __attribute__((always_inline)) void operator()(const TapProduct& p,
                                                 Floats (&sums)[filters][vectors],
                                                 std::size_t filter, std::size_t position) const {
    float* const output = p.output + filter * p.output_stride + position;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      const Floats shift = load(maxima + position + v * lanes);
      Floats all = load(added + position + v * lanes);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < filters; ++f) {
        const Floats weight = exp2<headroom>(sums[f][v] - shift);
        store(output + f * p.output_stride + v * lanes, weight);
        all += weight;
      }
      store(added + position + v * lanes, all);
    }
  }
};

static bool weigh_columns(const TapProduct& scoring, const float* maxima, float* sums) {
  constexpr std::size_t step = 64;  // that many are in vain at most
  float added[most_panel_columns] = {};
  TapProduct part = scoring;
  for (std::size_t left = scoring.filters; left != 0; left -= part.filters) {
    part.filters = left < step ? left : step;
    tap_product_all<true>(part, StoreWeights{maxima, added});
    Ints grown{};
    for (std::size_t j = 0; j < part.positions; j += lanes) grown |= ~(load(added + j) <= 1);
    if (any(grown)) return false;
    part.weights += part.filters * part.filter_stride;
    part.output += part.filters * part.output_stride;
  }
  for (std::size_t j = 0; j < scoring.positions; j += lanes) {
    store(sums + j, load(sums + j) + load(added + j));
  }
  return true;
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
