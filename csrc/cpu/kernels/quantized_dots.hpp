#pragma once

/// Products of weights with rows of x as the weights are decoded; a part of quantized.inc.

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Without its scale, what all of a group stands for.
template <QuantFormat format>
static inline void find_group(const PackedWeights& from, std::size_t group, Half& low, Half& high) {
#if defined(__AVX512F__)
  constexpr QuantLayout layout = quant_layout(format);
  if constexpr (layout.low == 4 && layout.high == 0) {
    constexpr float b = layout.bias;
    const __m512 numbers =
        format == QuantFormat::mxfp4
            ? _mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
            : _mm512_setr_ps(0 - b, 1 - b, 2 - b, 3 - b, 4 - b, 5 - b, 6 - b, 7 - b, 8 - b, 9 - b,
                             10 - b, 11 - b, 12 - b, 13 - b, 14 - b, 15 - b);
    // Only the lowest four bits of a place count.
    const auto bytes = (__m128i)load<Bytes>(from.data + group * half_size);
    const __m512i places = _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
    const __m512i rest = _mm512_maskz_srli_epi32(0xffff, places, 4);
    low.part[0] = (Floats)_mm512_maskz_permutexvar_ps(0xffff, places, numbers);
    high.part[0] = (Floats)_mm512_maskz_permutexvar_ps(0xffff, rest, numbers);
    return;
  }
#endif
  low = numbers_of<format>(bytes_of<format, 0>(from, group));
  high = numbers_of<format>(bytes_of<format, 1>(from, group));
}

/// Of up to quant_super groups: of each its scale, and its minimum behind it where it has one; of
/// formats whose halves have scales those of both, and the minima in an array of their own.
struct Scales {
  float scale[2 * quant_super], minimum[2 * quant_super];
};
template <QuantFormat format>
constexpr bool has_scaled_halves =
    format == QuantFormat::q2_k || format == QuantFormat::q3_k || format == QuantFormat::q6_k;
template <QuantFormat format>
static inline std::size_t scale_place(std::size_t group, std::size_t half) {
  if constexpr (has_scaled_halves<format>) return 2 * group + half;
  return has_minima<format> ? 2 * group : group;
}
template <QuantFormat format>
static inline float minimum_of(const Scales& of, std::size_t group, std::size_t half) {
  return has_scaled_halves<format> ? of.minimum[2 * group + half] : of.scale[2 * group + 1];
}

/// Of whole blocks of formats whose scales are bytes.
template <QuantFormat format>
static inline void find_outer_scales(const PackedWeights& from, std::size_t first, Scales& scales) {
  constexpr QuantLayout layout = quant_layout(format);
  const auto bytes = load<Bytes>(from.data + from.at.scales + first * 2);
  const std::uint8_t* const outer =
      from.data + from.at.outer +
      first / static_cast<std::size_t>(quant_super) * static_cast<std::size_t>(layout.outer);
  const float by = half_at(outer);
  Half scale = widened<layout.outer == 2>(format == QuantFormat::q2_k ? bytes & 15 : bytes);
  if constexpr (layout.outer == 2) {
    scale_by(scale, splat(by));
  } else {
    const float below = -half_at(outer + 2);
    if constexpr (format == QuantFormat::q2_k) {
      Half minimum = widened<false>(bytes >> 4);
      scale_by(minimum, splat(below));
      scale_by(scale, splat(by));
      __builtin_memcpy(scales.minimum, &minimum, sizeof minimum);
    } else {
      Floats turns;
      for (std::size_t i = 0; i < lanes; ++i) turns[i] = i % 2 == 0 ? by : below;
      scale_by(scale, turns);
    }
  }
  __builtin_memcpy(scales.scale, &scale, sizeof scale);
}

template <QuantFormat format>
static inline void find_scales(const PackedWeights& from, std::size_t first, std::size_t count,
                               Scales& scales) {
  constexpr QuantLayout layout = quant_layout(format);
  if constexpr (layout.outer > 0) return find_outer_scales<format>(from, first, scales);
#if defined(__F16C__)
  if constexpr (layout.scale >= 2) {
    if (count == static_cast<std::size_t>(quant_super)) {
      const std::uint8_t* const halves =
          from.data + from.at.scales + first * static_cast<std::size_t>(layout.scale);
      for (std::size_t i = 0; i < static_cast<std::size_t>(layout.scale) / 2; ++i) {
        const auto eight = (__m128i)load<Bytes>(halves + i * half_size);
        _mm256_storeu_ps(scales.scale + i * 8, _mm256_cvtph_ps(eight));
      }
      return;
    }
  }
#endif
  for (std::size_t i = 0; i < count; ++i) {
    const ScaleOfHalf one = scale_of<format>(from, first + i, 0);
    scales.scale[scale_place<format>(i, 0)] = one.scale;
    if constexpr (has_minima<format>) scales.scale[2 * i + 1] = one.minimum;
  }
}

/// Adds a group's products with each of some rows, by lanes.
template <QuantFormat format, std::size_t rows>
static inline void add_group(const PackedWeights& from, std::size_t group, const Scales& by,
                             std::size_t place, const float* x, std::size_t stride, Half* sums,
                             Half* other_sums) {
  constexpr bool has_one_scale = !has_scaled_halves<format> && !has_minima<format>;
  Half low, high;
  find_group<format>(from, group, low, high);
  const float scale = by.scale[scale_place<format>(place, 0)];
  if constexpr (!has_one_scale) {
    const float scale_of_high = by.scale[scale_place<format>(place, 1)];
    each_part([&](auto p) __attribute__((always_inline)) {
      low.part[p.value] *= scale;
      high.part[p.value] *= scale_of_high;
      if constexpr (has_minima<format>) {
        low.part[p.value] += minimum_of<format>(by, place, 0);
        high.part[p.value] += minimum_of<format>(by, place, 1);
      }
    });
  }
  for (std::size_t row = 0; row < rows; ++row) {
    each_part([&](auto p) __attribute__((always_inline)) {
      Floats x_low, x_high;
      const float* const at = x + row * stride + p.value * lanes;
      __builtin_memcpy(&x_low, at, sizeof x_low);
      __builtin_memcpy(&x_high, at + half_size, sizeof x_high);
      if constexpr (has_one_scale) {
        sums[row].part[p.value] +=
            (low.part[p.value] * x_low + high.part[p.value] * x_high) * scale;
      } else {
        sums[row].part[p.value] += low.part[p.value] * x_low;
        other_sums[row].part[p.value] += high.part[p.value] * x_high;
      }
    });
  }
}

/// Products of groups with each of some rows. Of few rows every second group has sums of its own,
/// so that additions do not wait for each other.
template <QuantFormat format, std::size_t rows>
static void dot_groups(const PackedWeights& from, std::size_t first, std::size_t count,
                       const float* x, std::size_t stride, float* output) {
  constexpr auto together = static_cast<std::size_t>(quant_super);
  Half even[rows] = {}, odd[rows] = {};
  Half* const others = rows <= 2 ? odd : even;
  for (std::size_t group = 0; group < count; group += together) {
    const std::size_t part = count - group < together ? count - group : together;
    Scales by;
    find_scales<format>(from, first + group, part, by);
    const float* at = x + group * 2 * half_size;
    std::size_t i = 0;
    for (; i + 2 <= part; i += 2, at += 4 * half_size) {
      add_group<format, rows>(from, first + group + i, by, i, at, stride, even, others);
      add_group<format, rows>(from, first + group + i + 1, by, i + 1, at + 2 * half_size, stride,
                              others, even);
    }
    if (i < part) add_group<format, rows>(from, first + group + i, by, i, at, stride, even, others);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    float total = 0;
    for (std::size_t p = 0; p < parts; ++p) {
      const Floats sums = even[row].part[p] + odd[row].part[p];
      for (std::size_t lane = 0; lane < lanes; ++lane) total += sums[lane];
    }
    output[row] = total;
  }
}

template <QuantFormat format>
static void dot_of(const PackedWeights& from, std::size_t first, std::size_t count, const float* x,
                   std::size_t stride, std::size_t rows, float* output) {
  switch (rows) {
    case 1:
      return dot_groups<format, 1>(from, first, count, x, stride, output);
    case 2:
      return dot_groups<format, 2>(from, first, count, x, stride, output);
    case 3:
      return dot_groups<format, 3>(from, first, count, x, stride, output);
    default:
      return dot_groups<format, 4>(from, first, count, x, stride, output);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
