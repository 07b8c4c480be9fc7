#pragma once

#include "cpu/kernels/table.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class Function>
static inline void map(const float* input, float* output, std::size_t n, Function function) {
  for (std::size_t i = 0; i < n; ++i) output[i] = function(input[i]);
}

static void unary(UnaryOp op, const float* input, float* output, std::size_t n) {
  switch (op) {
    case UnaryOp::relu:
      return map(input, output, n, [](float x) { return x < 0 ? 0 : x; });
    case UnaryOp::abs:
      return map(input, output, n, [](float x) { return __builtin_fabsf(x); });
    case UnaryOp::neg:
      return map(input, output, n, [](float x) { return -x; });
    default:
      return;
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
