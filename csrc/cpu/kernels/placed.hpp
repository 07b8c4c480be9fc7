#pragma once

#include "cpu/kernels/simd.hpp"

// Numbers of short rows that lie one behind the other, for the elements of these rows.
namespace tilewright::cpu::TILEWRIGHT_ISA {

#if defined(__AVX2__)
#define TILEWRIGHT_HAS_PLACED 1

/// The elements of x at these places.
static inline Floats placed(Floats x, Ints places) {
#if defined(__AVX512F__)
  return (Floats)_mm512_permutexvar_ps((__m512i)places, (__m512)x);
#else
  return (Floats)_mm256_permutevar8x32_ps((__m256)x, (__m256i)places);
#endif
}

/// As many rows of n elements as a vector has lanes are n vectors: which row each element is of.
class RowPlaces {
 public:
  explicit RowPlaces(std::size_t n) : step_(static_cast<float>(lanes) / static_cast<float>(n)) {
    // Half an element is added: so what is cut off is never next to a whole number.
    for (std::size_t i = 0; i < lanes; ++i) {
      first_[i] = (static_cast<float>(i) + 0.5f) / static_cast<float>(n);
    }
  }
  Ints of(std::size_t vector) const {
    return to_ints(first_ + static_cast<float>(static_cast<std::int32_t>(vector)) * step_);
  }

 private:
  Floats first_{};
  float step_;
};

/// Element j of as many rows of n elements.
static inline Floats column_of(const float* x, std::size_t n, std::size_t j) {
#if defined(__AVX512F__)
  const __m512i rows = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i places = _mm512_mullo_epi32(rows, _mm512_set1_epi32(static_cast<int>(n)));
  return (Floats)_mm512_i32gather_ps(places, x + j, 4);
#else
  const __m256i rows = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m256i places = _mm256_mullo_epi32(rows, _mm256_set1_epi32(static_cast<int>(n)));
  return (Floats)_mm256_i32gather_ps(x + j, places, 4);
#endif
}
#endif

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
