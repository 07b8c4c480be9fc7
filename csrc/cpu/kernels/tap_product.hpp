#pragma once

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

// The sums of a tile of filters x vectors stay in registers, beside its inputs and one weight.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr std::size_t tile_filters = 8;
#else
constexpr std::size_t tile_filters = 4;
#endif
// Rows of four vectors are best taken whole, by six filters.
constexpr std::size_t tile_vectors(std::size_t filters) {
  return filters == 1 ? 6 : filters == 6 ? 4 : 3;
}

/// Adds the sums of a tile to what stays of the output so far, clamps and stores them.
struct StoreSums {
  template <std::size_t filters, std::size_t vectors>
  __attribute__((always_inline)) void operator()(const TapProduct& p,
                                                 Floats (&sums)[filters][vectors],
                                                 std::size_t filter, std::size_t position) const {
    float* const output = p.output + filter * p.output_stride + position;
#pragma GCC unroll 8
    for (std::size_t f = 0; f < filters; ++f) {
      float* const row = output + f * p.output_stride;
      const Floats kept = splat(p.kept != nullptr ? p.kept[filter + f] : 0);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) {
        if (p.kept != nullptr) sums[f][v] += kept * load(row + v * lanes);
        if (p.is_clamped) {
          const Floats above = sums[f][v] < p.low ? splat(p.low) : sums[f][v];
          sums[f][v] = above > p.high ? splat(p.high) : above;
        }
        store(row + v * lanes, sums[f][v]);
      }
    }
  }
};

/// One tap has a loop of its own: the loop over taps takes registers and time from a short tile.
/// The sums go to finish(p, sums, filter, position), which must be inlined: they are in registers.
template <std::size_t filters, std::size_t vectors, bool one_tap, class Finish>
static void tap_product_tile(const TapProduct& p, std::size_t filter, std::size_t position,
                             Finish finish) {
  const float* const weights = p.weights + filter * p.filter_stride;
  Floats sums[filters][vectors];
#pragma GCC unroll 8
  for (std::size_t f = 0; f < filters; ++f) {
    const float start = p.start != nullptr ? p.start[filter + f] : 0;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) sums[f][v] = splat(start);
  }
  const auto add = [&](const float* input, const float* weight) __attribute__((always_inline)) {
    Floats inputs[vectors];
    for (std::size_t v = 0; v < vectors; ++v) inputs[v] = load(input + v * lanes);
    for (std::size_t f = 0; f < filters; ++f) {
      const Floats w = splat(weight[f * p.filter_stride]);
      for (std::size_t v = 0; v < vectors; ++v) sums[f][v] += w * inputs[v];
    }
  };
  const float* input = p.input + position + (one_tap ? p.taps[0].input : 0);
  const float* weight = weights + (one_tap ? p.taps[0].weight : 0);
  const Tap* const end = p.taps + p.tap_count;
  for (std::size_t c = 0; c < p.channels; ++c) {
    if constexpr (one_tap) {
      add(input, weight);
    } else {
      for (const Tap* tap = p.taps; tap != end; ++tap)
        add(input + tap->input, weight + tap->weight);
    }
    input += p.input_stride;
    weight += p.weight_stride;
  }
  finish(p, sums, filter, position);
}

template <std::size_t filters, std::size_t vectors, bool one_tap, class Finish>
static void tap_product_vectors(const TapProduct& p, std::size_t filter, std::size_t position,
                                std::size_t count, Finish finish) {
  if (count == vectors) {
    return tap_product_tile<filters, vectors, one_tap>(p, filter, position, finish);
  }
  if constexpr (vectors > 1) {
    tap_product_vectors<filters, vectors - 1, one_tap>(p, filter, position, count, finish);
  }
}

/// All positions for `filters` filters. The last tile moves back to end where the positions end.
template <std::size_t filters, bool one_tap, class Finish>
static void tap_product_filters(const TapProduct& p, std::size_t filter, Finish finish) {
  constexpr std::size_t most = tile_vectors(filters);
  const std::size_t whole = p.positions / lanes;
  for (std::size_t position = 0; position < p.positions;) {
    const std::size_t left = (p.positions - position + lanes - 1) / lanes;
    std::size_t vectors = left == most + 1 ? (most + 1) / 2 : (left < most ? left : most);
    if (vectors > whole) vectors = whole;
    const std::size_t last = p.positions - vectors * lanes;
    if (position > last) position = last;
    tap_product_vectors<filters, most, one_tap>(p, filter, position, vectors, finish);
    position += vectors * lanes;
  }
}

template <bool one_tap, class Finish>
static void tap_product_all(const TapProduct& p, Finish finish) {
  std::size_t filter = 0;
  if (tile_filters == 8 && p.positions == 4 * lanes) {
    for (; filter + 6 <= p.filters; filter += 6) tap_product_filters<6, one_tap>(p, filter, finish);
  }
  for (; filter + tile_filters <= p.filters; filter += tile_filters) {
    tap_product_filters<tile_filters, one_tap>(p, filter, finish);
  }
  if (tile_filters > 4 && filter + 4 <= p.filters) {
    tap_product_filters<4, one_tap>(p, filter, finish);
    filter += 4;
  }
  if (filter + 2 <= p.filters) {
    tap_product_filters<2, one_tap>(p, filter, finish);
    filter += 2;
  }
  if (filter < p.filters) tap_product_filters<1, one_tap>(p, filter, finish);
}

static void tap_product(const TapProduct& p) {
  p.tap_count == 1 ? tap_product_all<true>(p, StoreSums{}) : tap_product_all<false>(p, StoreSums{});
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
