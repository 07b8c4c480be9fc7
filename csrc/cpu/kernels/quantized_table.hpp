#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/quantized.hpp"

namespace tilewright::cpu {

/// Where the planes of packed weights are.
struct PackedWeights {
  const std::uint8_t* data;
  QuantPlanes at;
};

struct QuantizedTable {
  /// The values of `count` groups from `first` on.
  void (*decode)(QuantFormat format, const PackedWeights& from, std::size_t first,
                 std::size_t count, float* values);
  /// What `count` groups give with each of one to four rows of x.
  void (*dot)(QuantFormat format, const PackedWeights& from, std::size_t first, std::size_t count,
              const float* x, std::size_t stride, std::size_t rows, float* output);
};

/// The table for usable_isa().
const QuantizedTable& quantized_table();

}  // namespace tilewright::cpu
