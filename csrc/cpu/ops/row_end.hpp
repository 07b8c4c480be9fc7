#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/convert.hpp"
#include "cpu/kernels/table.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// What becomes of the float32 sums of a row before they are stored.
struct RowEnd {
  const float* bias;  ///< may be null
  Activation activation;
  float slope;
  bool is_gated;  ///< the first n results are multiplied by the n others

  void apply(float* sums, std::size_t n) const {
    if (bias != nullptr) {
      for (std::size_t i = 0; i < (is_gated ? 2 * n : n); ++i) sums[i] += bias[i];
    }
    if (activation != Activation::none) kernels().activate(activation, slope, sums, n);
    if (!is_gated) return;
    for (std::size_t i = 0; i < n; ++i) sums[i] *= sums[n + i];
  }
};

/// Stores n results, or with `adds` their sums with what is there.
template <class T>
void store_row(float* sums, T* out, std::size_t n, bool adds) {
  if (adds) {
    constexpr std::size_t block = 256;
    float held[block];
    for (std::size_t i = 0; i < n; i += block) {
      const std::size_t count = std::min(block, n - i);
      to_float32(out + i, held, count);
      for (std::size_t j = 0; j < count; ++j) sums[i + j] += held[j];
    }
  }
  from_float32(sums, out, n);
}

}  // namespace tilewright::cpu
