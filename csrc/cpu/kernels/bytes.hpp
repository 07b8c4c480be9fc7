#pragma once

#include "cpu/kernels/simd.hpp"

// Rows of int8 that have a scale. Plain loops, which the compiler makes vectors of.
namespace tilewright::cpu::TILEWRIGHT_ISA {

static void widen_bytes(const std::int8_t* from, std::size_t n, float scale, float* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

static void narrow_to_bytes(const float* from, std::size_t n, float factor, std::int8_t* to) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = static_cast<std::int8_t>(static_cast<int>(__builtin_rintf(from[i] * factor)));
  }
}

static float largest_size(const float* x, std::size_t n) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t size = __builtin_bit_cast(std::uint32_t, x[i]) & 0x7fffffffu;
    most = size > most ? size : most;
  }
  return __builtin_bit_cast(float, most);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
