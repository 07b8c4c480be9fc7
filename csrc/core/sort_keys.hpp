#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

/// How the bits of an element become an unsigned number that orders it: floats by sign and
/// magnitude, 0.0 as -0.0 and NaN above all; what is signed from its least number on. `flip` turns
/// the order round for all but NaN.
struct SortKeys {
  int bits;
  std::uint64_t all;       ///< ones
  std::uint64_t sign;      ///< the sign's bit; 0 of what has none
  std::uint64_t infinity;  ///< the bits of infinity; 0 of integers
  std::uint64_t flip;

  bool is_float() const { return infinity != 0; }
};

constexpr SortKeys sort_keys(DType dtype, bool descending) {
  SortKeys keys{};
  keys.bits = static_cast<int>(8 * size_of(dtype));
  keys.all = ~std::uint64_t{0} >> (64 - keys.bits);
  keys.sign = std::uint64_t{1} << (keys.bits - 1);
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      keys.sign = 0;
      break;
    case DType::float16:
      keys.infinity = 0x7c00;
      break;
    case DType::bfloat16:
      keys.infinity = 0x7f80;
      break;
    case DType::float32:
      keys.infinity = 0x7f800000;
      break;
    case DType::float64:
      keys.infinity = 0x7ff0000000000000;
      break;
    default:
      break;
  }
  keys.flip = descending ? keys.all : 0;
  return keys;
}

}  // namespace tilewright
