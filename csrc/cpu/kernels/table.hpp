#pragma once

#include <cstddef>

#include "cpu/processor.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// The inner loops that are compiled once for each instruction set. All work on one thread; sizes
/// in elements; pointers need no alignment.
struct KernelTable {
  Isa isa;
  std::size_t simd_width;  ///< float32 lanes

  void (*unary)(UnaryOp op, const float* input, float* output, std::size_t n);
};

/// The table for usable_isa().
const KernelTable& kernels();

}  // namespace tilewright::cpu
