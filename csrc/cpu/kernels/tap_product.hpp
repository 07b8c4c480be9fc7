#pragma once

#include "cpu/kernels/linear_table.hpp"
#include "cpu/kernels/rows.hpp"
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
    if (p.kept != nullptr) {
#pragma GCC unroll 8
      for (std::size_t f = 0; f < filters; ++f) {
        const Floats kept = splat(p.kept[filter + f]);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) {
          sums[f][v] += kept * load(output + f * p.output_stride + v * lanes);
        }
      }
    }
    if (p.addend != nullptr) {
      const float* row = p.addend + filter * p.output_stride + position;
#pragma GCC unroll 8
      for (std::size_t f = 0; f < filters; ++f) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) sums[f][v] += load(row + v * lanes);
        row += p.output_stride;
      }
    }
    if (p.is_clamped) {
      const Floats low = splat(p.low), high = splat(p.high);
#pragma GCC unroll 8
      for (std::size_t f = 0; f < filters; ++f) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) {
          sums[f][v] = sums[f][v] < low ? low : sums[f][v];
          sums[f][v] = sums[f][v] > high ? high : sums[f][v];
        }
      }
    }
    float* row = output;
#pragma GCC unroll 8
    for (std::size_t f = 0; f < filters; ++f) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) store(row + v * lanes, sums[f][v]);
      row += p.output_stride;
    }
  }
};

/// Weights of up to eight filters, a stride in bytes apart, by two addresses and two strides: with
/// more the compiler moves addresses through vector registers.
struct WeightRows {
  std::size_t stride, three;

  explicit WeightRows(std::size_t floats)
      : stride(floats * sizeof(float)), three(3 * floats * sizeof(float)) {
    asm("" : "+r"(three));
  }
  template <std::size_t row>
  __attribute__((always_inline)) float at(const char* first, const char* fifth) const {
    const char* const four = row < 4 ? first : fifth;
    constexpr std::size_t left = row % 4;
    return *reinterpret_cast<const float*>(left == 3 ? four + three : four + left * stride);
  }
};

/// Whole tiles of positions whose inputs stay in the first-level cache for all filters.
inline std::size_t step_positions(std::size_t channels) {
  constexpr std::size_t cached = 4096, tile = tile_vectors(tile_filters) * lanes;
  const std::size_t tiles = channels > 0 ? cached / (channels * tile) : 1;
  return (tiles > 1 ? tiles : 1) * tile;
}

/// One tap has a loop of its own: the loop over taps takes registers and time from a short tile.
/// The sums go to finish(p, sums, filter, position), which must be inlined: they are in registers.
template <std::size_t filters, std::size_t vectors, bool one_tap, class Finish>
__attribute__((noinline)) static void tap_product_tile(const TapProduct& p, std::size_t filter,
                                                       std::size_t position, Finish finish) {
  const float* const weights = p.weights + filter * p.filter_stride;
  Floats sums[filters][vectors];
#pragma GCC unroll 8
  for (std::size_t f = 0; f < filters; ++f) {
    const float start = p.start != nullptr ? p.start[filter + f] : 0;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) sums[f][v] = splat(start);
  }
  if (p.channels * p.tap_count <= 40) {
    // Few products do not hide that rows of the output lie far apart: their lines are asked for
    // before the sums are there.
    const float* row = p.output + filter * p.output_stride + position;
#pragma GCC unroll 8
    for (std::size_t f = 0; f < filters; ++f) {
      for (std::size_t v = 0; v < vectors; ++v) __builtin_prefetch(row + v * lanes, 1);
      row += p.output_stride;
    }
  }
  if (p.addend != nullptr) {
    // It comes from far away, and is wanted when the sums are there.
    const float* row = p.addend + filter * p.output_stride + position;
#pragma GCC unroll 8
    for (std::size_t f = 0; f < filters; ++f) {
      for (std::size_t v = 0; v < vectors; ++v) __builtin_prefetch(row + v * lanes);
      row += p.output_stride;
    }
  }
  const WeightRows rows(p.filter_stride);
  const auto add = [&](const float* input, const float* weight) __attribute__((always_inline)) {
    Floats inputs[vectors];
    for (std::size_t v = 0; v < vectors; ++v) inputs[v] = load(input + v * lanes);
    const char* const first = reinterpret_cast<const char*>(weight);
    const char* fifth = first + 4 * rows.stride;
    if constexpr (filters > 4) asm("" : "+r"(fifth));
    const auto row = [&]<std::size_t f>() __attribute__((always_inline)) {
      if constexpr (f < filters) {
        const Floats w = splat(rows.at<f>(first, fifth));
        for (std::size_t v = 0; v < vectors; ++v) sums[f][v] += w * inputs[v];
      }
    };
    row.template operator()<0>();
    row.template operator()<1>();
    row.template operator()<2>();
    row.template operator()<3>();
    row.template operator()<4>();
    row.template operator()<5>();
    row.template operator()<6>();
    row.template operator()<7>();
  };
  const float* input = p.input + position + (one_tap ? p.taps[0].input : 0);
  const float* weight = weights + (one_tap ? p.taps[0].weight : 0);
  const std::size_t channels = p.channels, input_stride = p.input_stride;
  const std::size_t weight_stride = p.weight_stride;
  if constexpr (one_tap) {
    // Weights come from far away: those of the next filters are asked for meanwhile, once. So are
    // the inputs of the next positions, of which each channel has a few lines somewhere else.
    std::size_t ahead = 0;
    if (filter + filters >= p.filters) {
      ahead = p.filters > tile_filters ? step_positions(p.channels) : vectors * lanes;
    }
    const bool asks = ahead > 0 && position + ahead + vectors * lanes <= p.positions;
    constexpr std::size_t line = 16;
    for (std::size_t c = 0; c < channels;) {
      if (position == 0) {
        for (std::size_t f = filters; f < 2 * filters; ++f) {
          __builtin_prefetch(weight + f * p.filter_stride);
        }
      }
      const std::size_t stop = c + line < channels ? c + line : channels;
      for (; c < stop; ++c) {
        if (asks) {
#pragma GCC unroll 8
          for (std::size_t v = 0; v < vectors; ++v) {
            __builtin_prefetch(input + ahead + v * lanes);
          }
        }
        add(input, weight);
        input += input_stride;
        weight += weight_stride;
      }
    }
  } else {
    const Tap* const taps = p.taps;
    const Tap* const end = taps + p.tap_count;
    for (std::size_t c = 0; c < channels; ++c) {
      for (const Tap* tap = taps; tap != end; ++tap) add(input + tap->input, weight + tap->weight);
      input += input_stride;
      weight += weight_stride;
    }
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

/// Positions from `position` to `end` for `filters` filters. The last tile moves back to end where
/// all positions end.
template <std::size_t filters, bool one_tap, class Finish>
static void tap_product_filters(const TapProduct& p, std::size_t filter, std::size_t position,
                                std::size_t end, Finish finish) {
  constexpr std::size_t most = tile_vectors(filters);
  const std::size_t whole = p.positions / lanes;
  while (position < end) {
    const std::size_t left = (end - position + lanes - 1) / lanes;
    std::size_t vectors = left == most + 1 ? (most + 1) / 2 : (left < most ? left : most);
    if (vectors > whole) vectors = whole;
    const std::size_t last = end - vectors * lanes;
    if (position > last) position = last;
    tap_product_vectors<filters, most, one_tap>(p, filter, position, vectors, finish);
    position += vectors * lanes;
  }
}

/// Those for all filters from `filter` on.
template <bool one_tap, class Finish>
static void tap_product_rest(const TapProduct& p, std::size_t filter, std::size_t position,
                             std::size_t end, Finish finish) {
  for (; filter + tile_filters <= p.filters; filter += tile_filters) {
    tap_product_filters<tile_filters, one_tap>(p, filter, position, end, finish);
  }
  if (tile_filters > 4 && filter + 4 <= p.filters) {
    tap_product_filters<4, one_tap>(p, filter, position, end, finish);
    filter += 4;
  }
  if (filter + 3 == p.filters) {
    tap_product_filters<3, one_tap>(p, filter, position, end, finish);
    return;
  }
  if (filter + 2 <= p.filters) {
    tap_product_filters<2, one_tap>(p, filter, position, end, finish);
    filter += 2;
  }
  if (filter < p.filters) tap_product_filters<1, one_tap>(p, filter, position, end, finish);
}

template <bool one_tap, class Finish>
static void tap_product_all(const TapProduct& p, Finish finish) {
  if (one_tap && p.filters > tile_filters && p.positions != 4 * lanes) {
    const std::size_t step = step_positions(p.channels);
    for (std::size_t position = 0; position < p.positions;) {
      // Less than a tile is not left alone.
      const std::size_t left = p.positions - position;
      const std::size_t count = left < step + tile_vectors(tile_filters) * lanes ? left : step;
      tap_product_rest<one_tap>(p, 0, position, position + count, finish);
      position += count;
    }
    return;
  }
  std::size_t filter = 0;
  if (tile_filters == 8 && p.positions == 4 * lanes) {
    // Eight are left to be taken together, which is better than six and two.
    for (std::size_t left = p.filters; left >= 6 && left != 8 && left != 16; left -= 6) {
      tap_product_filters<6, one_tap>(p, filter, 0, p.positions, finish);
      filter += 6;
    }
  }
  tap_product_rest<one_tap>(p, filter, 0, p.positions, finish);
}

/// Few positions that fill no vector, of one tap with weights side by side: sums along these.
static void tap_product_columns(const TapProduct& p, std::size_t first) {
  constexpr std::size_t most_channels = 512, most_filters = 32, together = 4;
  float column[most_channels], totals[most_filters];
  for (std::size_t position = first; position < p.positions; ++position) {
    const float* const input = p.input + p.taps[0].input + position;
    for (std::size_t filter = 0; filter < p.filters; filter += most_filters) {
      const std::size_t left = p.filters - filter;
      const std::size_t filters = left < most_filters ? left : most_filters;
      for (std::size_t f = 0; f < filters; ++f) {
        totals[f] = p.start != nullptr ? p.start[filter + f] : 0;
      }
      for (std::size_t c = 0; c < p.channels; c += most_channels) {
        const std::size_t rest = p.channels - c;
        const std::size_t channels = rest < most_channels ? rest : most_channels;
        const std::size_t whole = channels / lanes * lanes;
        for (std::size_t i = 0; i < channels; ++i) column[i] = input[(c + i) * p.input_stride];
        const float* const weights = p.weights + p.taps[0].weight + filter * p.filter_stride + c;
        for (std::size_t f = 0; f < filters; f += together) {
          const float* rows[together];
          for (std::size_t i = 0; i < together; ++i) {
            rows[i] = weights + (f + i < filters ? f + i : f) * p.filter_stride;
          }
          Floats sums[together] = {};
          for (std::size_t i = 0; i < whole; i += lanes) {
            const Floats inputs = load(column + i);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < together; ++r) sums[r] += load(rows[r] + i) * inputs;
          }
          for (std::size_t r = 0; r < together && f + r < filters; ++r) {
            float total = sum_of_lanes(sums[r]);
            for (std::size_t i = whole; i < channels; ++i) total += rows[r][i] * column[i];
            totals[f + r] += total;
          }
        }
      }
      for (std::size_t f = 0; f < filters; ++f) {
        float total = totals[f];
        if (p.addend != nullptr) total += p.addend[(filter + f) * p.output_stride + position];
        if (p.is_clamped) {
          total = total < p.low ? p.low : total;
          total = total > p.high ? p.high : total;
        }
        p.output[(filter + f) * p.output_stride + position] = total;
      }
    }
  }
}

static void tap_product(const TapProduct& p) {
  if (p.tap_count != 1) return tap_product_all<false>(p, StoreSums{});
  // A vector for one or two positions takes longer than these alone.
  const std::size_t rest = p.positions % lanes;
  if (rest == 0 || rest > 2 || p.weight_stride != 1 || p.kept != nullptr ||
      p.filters < tile_filters || p.channels < 2 * lanes) {
    return tap_product_all<true>(p, StoreSums{});
  }
  TapProduct whole = p;
  whole.positions -= rest;
  tap_product_all<true>(whole, StoreSums{});
  tap_product_columns(p, whole.positions);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
