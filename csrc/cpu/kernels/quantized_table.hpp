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
};

/// The table for usable_isa().
const QuantizedTable& quantized_table();

}  // namespace tilewright::cpu
