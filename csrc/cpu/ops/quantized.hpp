#pragma once

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/kernels/quantized_table.hpp"

namespace tilewright::cpu {

/// Packed weights of so many groups.
inline PackedWeights packed_weights(const BufferRange& packed, QuantFormat format, Size groups) {
  return {data<std::uint8_t>(packed), quant_planes(format, groups)};
}

}  // namespace tilewright::cpu
